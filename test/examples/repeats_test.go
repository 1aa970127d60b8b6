package examples

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/devbroker"
	"github.com/retryd/retryd/test/harness"
)

func TestExampleHasEachEffectOnce(t *testing.T) {
	eachLanguage(t, func(t *testing.T, e *example) {
		e.db.addLoans(t, 10)
		t.Run("behind the daemon", func(t *testing.T) { behindTheDaemon(t, e) })
		t.Run("two requests at once", func(t *testing.T) { twoAtOnce(t, e) })
		t.Run("rejected is not remembered", func(t *testing.T) { rejected(t, e) })
		t.Run("no database is tried again", func(t *testing.T) { noDatabase(t, e) })
		t.Run("without an event id", func(t *testing.T) { e.expect(t, http.StatusBadRequest, "", "loan-0") })
	})
}

// behindTheDaemon has retryd deliver three events of each of ten loans, the answers to
// a third of which are lost: the breaker is off, which so many might open. Half of the
// events have an id of their own.
func behindTheDaemon(t *testing.T, e *example) {
	broker, err := devbroker.Start(devbroker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	addrs, topic := broker.Addrs(), "library.loan.overdue"
	harness.CreateTopic(t, addrs, topic, 2, nil)
	p := startProxy(t, e.url)
	d := suite.Daemon(t, fmt.Sprintf(`
kafka: {brokers: [%s], session_timeout: 6s}
relays:
- {topic: %s, start: earliest, tiers: [100ms, 100ms], endpoint: {url: %q, timeout: 2s, breaker: {enabled: false}}}
`, strings.Join(addrs, ", "), topic, p.url))

	produce(t, addrs, topic, 30)
	harness.WaitFor(t, bound, "an answer to each event", func() bool { return p.count() == 30 })
	d.Stop(t)
	p.check(t, 30, 10)
	for i := range 10 {
		if loan := fmt.Sprintf("loan-%d", i); e.db.fee(t, loan) != 150 {
			t.Errorf("%s owes %d cents after three events, want 150", loan, e.db.fee(t, loan))
		}
	}
	if n := e.db.number(t, "SELECT count(*) FROM handled_events"); n != 30 {
		t.Errorf("%d events are remembered, want 30", n)
	}
	if dead := harness.ReadTopic(t, addrs, topic+".DLT"); len(dead) > 0 {
		t.Errorf("%d dead letters", len(dead))
	}
}

func produce(t *testing.T, addrs []string, topic string, n int) {
	t.Helper()
	producer, err := sarama.NewSyncProducer(addrs, harness.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	records := make([]*sarama.ProducerMessage, n)
	for i := range records {
		loan := sarama.StringEncoder(fmt.Sprintf("loan-%d", i%10))
		records[i] = &sarama.ProducerMessage{Topic: topic, Key: loan, Value: loan}
		if i%2 == 0 {
			id := sarama.RecordHeader{Key: []byte("x-event-id"), Value: fmt.Appendf(nil, "event-%d", i)}
			records[i].Headers = []sarama.RecordHeader{id}
		}
	}
	if err := producer.SendMessages(records); err != nil {
		t.Fatal(err)
	}
}

// twoAtOnce sends an event twice at a time. The loan's row is locked meanwhile, so that
// the first request waits with its transaction open, and the second for the first.
func twoAtOnce(t *testing.T, e *example) {
	const loan = "loan-at-once"
	e.db.exec(t, "INSERT INTO loans VALUES ('"+loan+"')")
	blocker, err := e.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Rollback(t.Context())
	if _, err := blocker.Exec(t.Context(), "SELECT FROM loans WHERE loan = $1 FOR UPDATE", loan); err != nil {
		t.Fatal(err)
	}

	statuses := make(chan int, 2)
	for range 2 {
		go func() {
			status, _ := e.post("at-once", loan)
			statuses <- status
		}()
	}
	e.db.awaitWaiting(t, 2)
	if err := blocker.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if first, second := <-statuses, <-statuses; first != http.StatusNoContent || second != http.StatusNoContent {
		t.Errorf("answers %d and %d, want 204 both", first, second)
	}
	if fee := e.db.fee(t, loan); fee != 50 {
		t.Errorf("%d cents are owed, want 50", fee)
	}
}

// rejected has an event repaired and replayed: what was refused must not count as done.
func rejected(t *testing.T, e *example) {
	const loan = "loan-unknown"
	e.expect(t, http.StatusUnprocessableEntity, "rejected", loan)
	e.db.exec(t, "INSERT INTO loans VALUES ('"+loan+"')")
	e.expect(t, http.StatusNoContent, "rejected", loan)
	e.expect(t, http.StatusNoContent, "rejected", loan)
	if fee := e.db.fee(t, loan); fee != 50 {
		t.Errorf("%d cents are owed, want 50", fee)
	}
}

// noDatabase has the business change fail after the event id was inserted.
func noDatabase(t *testing.T, e *example) {
	const loan = "loan-later"
	e.db.exec(t, "INSERT INTO loans VALUES ('"+loan+"')")
	e.db.exec(t, "ALTER TABLE loans RENAME TO away")
	e.expect(t, http.StatusServiceUnavailable, "later", loan)
	e.db.exec(t, "ALTER TABLE away RENAME TO loans")
	e.expect(t, http.StatusNoContent, "later", loan)
	if fee := e.db.fee(t, loan); fee != 50 {
		t.Errorf("%d cents are owed, want 50", fee)
	}
}
