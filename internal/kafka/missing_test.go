package kafka

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// How often the missing topic is asked for tells what the other topic's record waited
// for: an outage would be waited for with 40 questions.
func TestDeletedTopicHoldsUpNoOther(t *testing.T) {
	fake, config := startFake(t, kfake.SeedTopics(1, "deleted", "healthy"))
	p := newProducers(t, config)
	deleted, healthy := target(t, p, "deleted", 1<<20), target(t, p, "healthy", 1<<20)
	write(t, deleted, text("before")) // its leader is known
	if err := connect(t, config).admin.DeleteTopic("deleted"); err != nil {
		t.Fatal(err)
	}
	var questions atomic.Int32
	asked := make(chan bool, 1)
	fake.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		for _, topic := range r.(*kmsg.MetadataRequest).Topics {
			if topic.Topic != nil && *topic.Topic == "deleted" && questions.Add(1) == 1 {
				asked <- true
			}
		}
		return nil, nil, false // the broker answers
	})
	answer := send(deleted, text("after"))
	receive(t, "a question for the deleted topic", asked)
	write(t, healthy, text("x"))
	if n := questions.Load(); n > 20 {
		t.Errorf("the record was acknowledged after %d questions for the deleted topic", n)
	}
	if a := receive(t, "an answer", answer); a.err == nil {
		t.Error("a record was written into a topic that does not exist")
	}
}

// While nobody answers, no topic counts as missing: that is an outage.
func TestTopicThatExistsIsNotMissing(t *testing.T) {
	fake, config := startFake(t, kfake.SeedTopics(1, "healthy"))
	p := newProducers(t, config)
	write(t, target(t, p, "healthy", 1<<20), text("x"))
	made, err := p.connect(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer made.close()
	c := leaderClient{made.client}
	if names := c.missing([]string{"healthy", "absent"}); len(names) != 1 || names[0] != "absent" {
		t.Errorf("%v are missing, want the absent one", names)
	}
	fake.Close()
	if names := c.missing([]string{"healthy", "absent"}); len(names) > 0 {
		t.Errorf("%v are missing, and nobody said so", names)
	}
}
