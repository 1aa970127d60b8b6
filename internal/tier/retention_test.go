package tier

import (
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
}
