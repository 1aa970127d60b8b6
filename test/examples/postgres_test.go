package examples

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/retryd/retryd/test/harness"
)

const (
	remember  = `INSERT INTO handled_events (event_id) VALUES ('event')`
	orNothing = remember + ` ON CONFLICT DO NOTHING`
	look      = `SELECT count(*) FROM handled_events WHERE event_id = 'event'`
	charge    = `UPDATE loans SET fee_cents = fee_cents + 50 WHERE loan = 'loan-0'`
)

// PostgreSQL's codes (its manual, appendix A).
const (
	uniqueViolation      = "23505"
	transactionAborted   = "25P02"
	serializationFailure = "40001"
	lockNotAvailable     = "55P03"
)

// run executes one statement, and returns what the server says that it did, or the code
// of its refusal.
func run(t *testing.T, tx pgx.Tx, sql string) (tag pgconn.CommandTag, code string) {
	t.Helper()
	tag, err := tx.Exec(t.Context(), sql)
	if refused := new(pgconn.PgError); errors.As(err, &refused) {
		return tag, refused.Code
	}
	if err != nil {
		t.Errorf("%s: %v", sql, err)
	}
	return tag, ""
}

func expect(t *testing.T, tx pgx.Tx, sql, tag, code string) {
	t.Helper()
	if got, refused := run(t, tx, sql); got.String() != tag || refused != code {
		t.Errorf("%s: %q, code %q, want %q, code %q", sql, got, refused, tag, code)
	}
}

// claim is what docs/idempotency.md says of PostgreSQL: transactions on a database with
// one loan of which nothing is owed, and what is owed afterwards.
type claim struct {
	name string
	try  func(t *testing.T, db *database)
	fee  int
}

var claims = []claim{
	{"a_caught_unique_violation_aborts_the_transaction", caughtViolation, 0},
	{"a_savepoint_keeps_the_transaction", savepoint, 50},
	{"checking_first_is_a_race", checkingFirst, 100},
	{"a_repeat_waits_and_sees_the_conflict", firstCommits, 50},
	{"a_repeat_waits_and_takes_over_from_a_rollback", firstRollsBack, 50},
	{"a_repeat_waits_no_longer_than_lock_timeout", lockTimeout, 50},
	{"repeatable_read_refuses_a_repeat", repeatableRead, 50},
}

func TestPostgresDoesWhatTheDocumentationSays(t *testing.T) {
	server := harness.StartPostgres(t)
	for _, c := range claims {
		t.Run(c.name, func(t *testing.T) {
			db := newDatabase(t, server, c.name)
			db.addLoans(t, 1)
			c.try(t, db)
			if fee := db.fee(t, "loan-0"); fee != c.fee {
				t.Errorf("%d cents are owed, want %d", fee, c.fee)
			}
		})
	}
}

// caughtViolation goes on after the violation: nothing that follows is done, and COMMIT
// is answered with a rollback that is no error.
func caughtViolation(t *testing.T, db *database) {
	db.exec(t, remember)
	tx := db.begin(t, pgx.TxOptions{})
	expect(t, tx, remember, "", uniqueViolation)
	expect(t, tx, charge, "", transactionAborted)
	expect(t, tx, `SELECT 1`, "", transactionAborted)
	expect(t, tx, `COMMIT`, "ROLLBACK", "")
}

func savepoint(t *testing.T, db *database) {
	db.exec(t, remember)
	tx := db.begin(t, pgx.TxOptions{})
	expect(t, tx, `SAVEPOINT before`, "SAVEPOINT", "")
	expect(t, tx, remember, "", uniqueViolation)
	expect(t, tx, `ROLLBACK TO SAVEPOINT before`, "ROLLBACK", "")
	expect(t, tx, charge, "UPDATE 1", "")
	expect(t, tx, `COMMIT`, "COMMIT", "")
}

// checkingFirst has two requests look before either has remembered the event, in a
// table without a unique index.
func checkingFirst(t *testing.T, db *database) {
	db.exec(t, `ALTER TABLE handled_events DROP CONSTRAINT handled_events_pkey`)
	first, second := db.begin(t, pgx.TxOptions{}), db.begin(t, pgx.TxOptions{})
	for _, tx := range []pgx.Tx{first, second} {
		var seen int
		if err := tx.QueryRow(t.Context(), look).Scan(&seen); err != nil || seen != 0 {
			t.Fatalf("%d events, %v, want none yet", seen, err)
		}
	}
	for _, tx := range []pgx.Tx{first, second} {
		expect(t, tx, remember, "INSERT 0 1", "")
		expect(t, tx, charge, "UPDATE 1", "")
		expect(t, tx, `COMMIT`, "COMMIT", "")
	}
}

func firstCommits(t *testing.T, db *database)   { waiting(t, db, `COMMIT`, "INSERT 0 0") }
func firstRollsBack(t *testing.T, db *database) { waiting(t, db, `ROLLBACK`, "INSERT 0 1") }

// waiting has a second request insert the event while the first has not ended its
// transaction, which it then does with end.
func waiting(t *testing.T, db *database, end, want string) {
	first, second := db.begin(t, pgx.TxOptions{}), db.begin(t, pgx.TxOptions{})
	expect(t, first, orNothing, "INSERT 0 1", "")
	expect(t, first, charge, "UPDATE 1", "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		expect(t, second, orNothing, want, "")
	}()
	db.awaitWaiting(t, 1)
	expect(t, first, end, end, "")
	<-done
	if want == "INSERT 0 1" {
		expect(t, second, charge, "UPDATE 1", "")
	}
	expect(t, second, `COMMIT`, "COMMIT", "")
}

func lockTimeout(t *testing.T, db *database) {
	first, second := db.begin(t, pgx.TxOptions{}), db.begin(t, pgx.TxOptions{})
	expect(t, first, orNothing, "INSERT 0 1", "")
	expect(t, first, charge, "UPDATE 1", "")
	expect(t, second, `SET LOCAL lock_timeout = '10ms'`, "SET", "")
	expect(t, second, orNothing, "", lockNotAvailable)
	expect(t, first, `COMMIT`, "COMMIT", "")
}

// repeatableRead has the first request commit after the second's view of the database
// was taken: the conflict is with a row that the second cannot see.
func repeatableRead(t *testing.T, db *database) {
	second := db.begin(t, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	expect(t, second, look, "SELECT 1", "")
	db.exec(t, orNothing)
	db.exec(t, charge)
	expect(t, second, orNothing, "", serializationFailure)
}
