package tier

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
)

func TestTopicSpecsKeepRecordsForAsLongAsTheyWait(t *testing.T) {
	c := validConfig(func(c *Config) {
		c.Policy.Tiers.List = []policy.Tier{{Delay: time.Second}, {Delay: 100 * time.Hour, Topic: "slow"}}
		c.Policy.Budget, c.Policy.Lifetime = 1000*time.Hour, 1000*time.Hour
		c.Policy.Park = []policy.Park{{Delay: 2000 * time.Hour}, {Delay: time.Hour}}
		c.Review.Enabled = true
		c.Endpoint.Rules = []policy.Rule{{DLT: "bad"}}
	})
	want := []kafka.TopicSpec{
		{Name: "orders.retry.1", Retention: 7 * 24 * time.Hour},
		{Name: "slow", Retention: 300 * time.Hour},
		{Name: "orders.park.1h", Retention: 7 * 24 * time.Hour},
		{Name: "orders.park.2000h", Retention: 6000 * time.Hour},
		{Name: "orders.DLT"}, // for ever
		{Name: "orders.review"},
		{Name: "bad"},
	}
	if diff := cmp.Diff(want, c.TopicSpecs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRetryTopicsAreTheTiersAndThenTheParkTopics(t *testing.T) {
	c := validConfig(func(c *Config) {
		c.Group = "g"
		c.Policy.Park = []policy.Park{{Delay: 24 * time.Hour, Topic: "day"}, {Delay: 90 * time.Minute}}
	})
	var got []string
	for _, topic := range c.RetryTopics() {
		got = append(got, fmt.Sprintln(topic.Name, topic.Group, topic.Label, topic.Role, topic.Key, topic.Least, topic.Delay, topic.Most, topic.Park))
	}
	want := []string{
		"orders.retry.1 g-retry-orders.retry.1 1 tier 1 tiers[0].topic 500ms 1s 1.2s false\n",
		"slow g-retry-slow 2 tier 2 tiers[1].topic 30s 1m0s 1m12s false\n",
		"orders.park.1h30m g-retry-orders.park.1h30m park-1h30m park-1h30m park[1].topic 1h30m0s 1h30m0s 1h30m0s true\n",
		"day g-retry-day park-24h park-24h park[0].topic 24h0m0s 24h0m0s 24h0m0s true\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDeadLetterTopics(t *testing.T) {
	dlt := DeadLetterTopic{"orders.DLT", metrics.TargetDLT, "dead letter", "dlt.topic"}
	review := func(name string) DeadLetterTopic {
		return DeadLetterTopic{name, metrics.TargetReview, "review", "review.topic"}
	}
	quarantine := func(name, key string) DeadLetterTopic {
		return DeadLetterTopic{name, metrics.TargetQuarantine, "quarantine", key}
	}
	tests := []struct {
		name   string
		change func(*Config)
		want   []DeadLetterTopic
	}{
		{"one", func(*Config) {}, []DeadLetterTopic{dlt}},
		{"a review topic", func(c *Config) { c.Review.Enabled = true }, []DeadLetterTopic{dlt, review("orders.review")}},
		{"those of rules, each once", func(c *Config) {
			c.Review.Enabled = true
			c.Endpoint.Rules = []policy.Rule{{Action: policy.TreatRetry}, {DLT: "bad"}, {DLT: "worse"}, {DLT: "bad"}}
		}, []DeadLetterTopic{dlt, review("orders.review"), quarantine("bad", "endpoint.rules[1].dlt"), quarantine("worse", "endpoint.rules[2].dlt")}},
		{"a rule that names another one's", func(c *Config) {
			c.Endpoint.Rules = []policy.Rule{{DLT: "orders.DLT"}} // an error, elsewhere
		}, []DeadLetterTopic{dlt, quarantine("orders.DLT", "endpoint.rules[0].dlt")}},
		{"a review topic with a name of its own", func(c *Config) { c.Review = Review{true, "look"} }, []DeadLetterTopic{dlt, review("look")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := resolved(validConfig(tt.change))
			if diff := cmp.Diff(tt.want, c.DeadLetterTopics()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			schedule, _ := c.Schedule()
			if schedule.Review != c.Review.Topic {
				t.Errorf("the schedule sends to %q, want %q", schedule.Review, c.Review.Topic)
			}
		})
	}
}

func TestParkTopicIsConsumedLikeATier(t *testing.T) {
	c := resolved(validConfig(func(c *Config) {
		c.Policy.Park = []policy.Park{{Delay: 24 * time.Hour}, {Delay: time.Hour}}
	}))
	schedule, _ := c.Schedule()
	sources := (&Relay{config: c, schedule: schedule}).configured()
	got := sources[len(sources)-2:]
	want := []source{
		{topic: "orders.park.1h", group: "retryd-orders-retry-orders.park.1h", label: "park-1h", place: 3, step: 1, least: time.Hour, delay: time.Hour, most: time.Hour},
		{topic: "orders.park.24h", group: "retryd-orders-retry-orders.park.24h", label: "park-24h", place: 4, step: 1, least: 24 * time.Hour, delay: 24 * time.Hour, most: 24 * time.Hour},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(source{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRetiredTopicsAreThoseThatNoTopicHas(t *testing.T) {
	c := validConfig(func(c *Config) { // its second tier has a name of its own
		c.DLT.Topic = "orders.retry.4"
		c.Policy.Park = []policy.Park{{Delay: time.Hour, Topic: "orders.retry.6"}}
		c.Review = Review{true, "orders.retry.8"}
		c.Endpoint.Rules = []policy.Rule{{DLT: "orders.retry.10"}}
	})
	var want []string
	for step := 2; step <= policy.MaxSteps; step++ {
		if step != 4 && step != 6 && step != 8 && step != 10 {
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
