package tier

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/policy"
)

func TestTopicSpecsKeepRecordsForAsLongAsTheyWait(t *testing.T) {
	c := validConfig(func(c *Config) {
		c.Policy.Tiers.List = []policy.Tier{{Delay: time.Second}, {Delay: 100 * time.Hour, Topic: "slow"}}
		c.Policy.Budget, c.Policy.Lifetime = 1000*time.Hour, 1000*time.Hour
	})
	want := []kafka.TopicSpec{
		{Name: "orders.retry.1", Retention: 7 * 24 * time.Hour},
		{Name: "slow", Retention: 300 * time.Hour},
		{Name: "orders.DLT"}, // for ever
	}
	if diff := cmp.Diff(want, c.TopicSpecs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRetiredTopicsAreThoseThatNoTopicHas(t *testing.T) {
	c := validConfig(func(c *Config) { c.DLT.Topic = "orders.retry.4" }) // its second tier has a name of its own
	var want []string
	for step := 2; step <= policy.MaxSteps; step++ {
		if step != 4 {
			want = append(want, fmt.Sprint("orders.retry.", step))
		}
	}
	if diff := cmp.Diff(want, c.RetiredTopics()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOrderingSentence(t *testing.T) {
	want := "a record that fails steps aside and holds up no other one; the price is that records of the same key may be delivered out of their order, also two at the same time"
	if got := validConfig(func(*Config) {}).OrderingSentence(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
