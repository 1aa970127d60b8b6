package tier

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/test/harness"
)

// TestTopicsSayForHowLongTheyKeepRecords also looks at where the routes lead.
func TestTopicsSayForHowLongTheyKeepRecords(t *testing.T) {
	f := newField(t, nil)
	week := "604800000"
	harness.CreateTopic(t, f.brokers, "orders", 1, map[string]string{"retention.ms": week})
	c := f.waitingRelay("orders")
	c.Policy.Park = []policy.Park{{Delay: 24 * time.Hour}}
	r, err := New(resolved(c), f.deps)
	if err != nil {
		t.Fatal(err)
	}
	r.cluster = f.cluster
	harness.WaitFor(t, time.Minute, "the topics", func() bool { _, err := r.tryPrepare(); return err == nil })
	for _, src := range r.configured() {
		if keeps := r.retention(src); keeps != 7*24*time.Hour {
			t.Errorf("%s keeps records for %v, want a week", src.topic, keeps)
		}
	}
	var names []string
	for _, place := range []int{1, 2} {
		to := r.routes.Load().target(policy.Decision{Action: policy.ActionRepark, Place: place})
		names = append(names, to.topic+" "+to.label)
	}
	if got := strings.Join(names, ", "); got != "orders.retry.1 1, orders.park.24h park-24h" {
		t.Errorf("places %s", got)
	}
	noteAges(t, r)
	measureAge(t, f, r)
}

// measureAge lets a measurement find an old record.
func measureAge(t *testing.T, f *field, r *Relay) {
	t.Helper()
	c := r.newConsumer(r.configured()[0])
	s := &session{consumer: c, claims: map[int32]*claim{}}
	s.claims[0] = newClaim(s, 0, 0)
	s.claims[0].seen.oldest = time.Now().Add(-5 * 24 * time.Hour)
	c.session.Store(s)
	r.members.expect([]*consumer{c})
	if err := Measure(f.cluster, []*Relay{r}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if !r.troubles.isOpen(kindAge, "orders") {
		t.Error("a measurement does not tell of a record of five days, which is kept for seven")
	}
}

// noteAges lets a relay's main topic have old records.
func noteAges(t *testing.T, r *Relay) {
	t.Helper()
	r.over(kindTopics, "orders")
	main := &session{consumer: r.newConsumer(r.configured()[0])}
	for _, step := range []struct {
		oldest time.Duration
		open   bool
	}{{84 * time.Hour, false}, {85 * time.Hour, true}, {0, false}, {math.MaxInt64, true}} {
		main.noteAge(step.oldest)
		if open := r.troubles.isOpen(kindAge, "orders"); open != step.open {
			t.Errorf("with a record of %v: told %v, want %v", step.oldest, open, step.open)
		}
	}
	if s := r.Status(); len(s.Problems) != 1 || s.Problems[0].Blocking ||
		!strings.HasPrefix(s.Problems[0].Text, "topic orders keeps its records for 168h0m0s (retention.ms), and half of that is over") {
		t.Errorf("problems %+v", s.Problems)
	}
	main.forget()
	if r.troubles.isOpen(kindAge, "orders") {
		t.Error("is told without a session")
	}
	main.noteAge(math.MaxInt64) // a measurement that was under way
	(&session{consumer: r.newConsumer(r.configured()[1])}).noteAge(math.MaxInt64)
	if r.troubles.isOpen(kindAge, "orders") || r.troubles.isOpen(kindAge, "orders.retry.1") {
		t.Error("is told of a session that is over, or of a tier, whose records are moved")
	}
}
