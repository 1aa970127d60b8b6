package tier

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/test/harness"
)

func TestFirstStartCountsWhatWouldBeRead(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	at := time.Now().Add(-24 * time.Hour)
	f.writeAt(t, "orders", at, at.Add(time.Hour), at.Add(2*time.Hour))
	harness.CreateTopic(t, f.brokers, "empty", 1, nil)
	tests := []struct {
		name         string
		topic, start string
		want         Start
	}{
		{"earliest", "orders", "earliest", Start{Records: 3, Total: 3}},
		{"latest", "orders", "latest", Start{Total: 3}},
		{"a time", "orders", at.Add(time.Hour).Format(time.RFC3339Nano), Start{Records: 2, Total: 3}},
		{"no word", "orders", "", Start{Needed: true, Total: 3}},
		{"no word for an empty topic", "empty", "", Start{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := validConfig(func(c *Config) { c.Topic, c.Start = tt.topic, tt.start })
			got, err := FirstStart(f.cluster, c)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Start{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := FirstStart(f.cluster, validConfig(func(c *Config) { c.Topic = "missing" })); !errors.Is(err, kafka.ErrNoTopic) {
		t.Errorf("a topic that does not exist: %v", err)
	}
}

func TestStartIsSettledOnce(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	f.write(t, "a", "b")
	c := f.waitingRelay("orders")
	c.Start = ""
	r, err := New(resolved(c), f.deps)
	if err != nil {
		t.Fatal(err)
	}
	r.cluster = f.cluster
	want := "group retryd-orders has no committed offset and topic orders holds about 2 records: start is needed; " +
		"say start: earliest to deliver them, latest to skip them, or a time (RFC 3339)"
	if err := r.resolveStart(); !errors.Is(err, errStartNeeded) || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	r.config.Start = "latest"
	if err := r.resolveStart(); err != nil {
		t.Fatal(err)
	}
	f.write(t, "c")
	first, err := FirstStart(f.cluster, r.config)
	if diff := cmp.Diff(Start{Committed: true}, first, cmpopts.IgnoreUnexported(Start{})); err != nil || diff != "" {
		t.Errorf("%v, after the commit (-want +got):\n%s", err, diff)
	}
}
