// Charges 50 cents for a loan that is overdue, once per event, however often the event
// comes.
//
//   npm install
//   DATABASE_URL=postgres://user:secret@127.0.0.1/library PORT=8080 node loans.mjs
import http from 'node:http'
import { text } from 'node:stream/consumers'
import postgres from 'postgres'

const sql = postgres(process.env.DATABASE_URL)

class UnknownLoan extends Error {}

// charge remembers the event and adds the fee in one transaction: both, or neither.
// begin commits when the function returns, and rolls back when it throws.
const charge = (event, loan) => sql.begin(async tx => {
  const inserted = await tx`INSERT INTO handled_events (event_id) VALUES (${event}) ON CONFLICT DO NOTHING`
  if (inserted.count === 0) return // a repeat
  const charged = await tx`UPDATE loans SET fee_cents = fee_cents + 50 WHERE loan = ${loan}`
  if (charged.count === 0) throw new UnknownLoan(loan) // the event is not remembered
})

async function answer(request) {
  const event = request.headers['idempotency-key']
  if (!event) return 400
  try {
    await charge(event, await text(request))
    return 204 // charged, now or before
  } catch (error) {
    if (error instanceof UnknownLoan) return 422 // to the dead letters
    console.error(error)
    return 503 // again, later
  }
}

http.createServer(async (request, response) => {
  response.writeHead(await answer(request)).end()
}).listen(Number(process.env.PORT), '127.0.0.1')
