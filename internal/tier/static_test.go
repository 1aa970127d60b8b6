package tier

import (
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/test/harness"
)

// static runs a relay as the instance of that id.
func (f *field) static(t *testing.T, id string) (r *Relay, stop func()) {
	t.Helper()
	f.deps.Kafka.InstanceID = id
	return f.relay(t, "orders", 0)
}

// The scenarios try this with cooperative-sticky too, on Kafka: the embedded broker begins
// another generation where the partitions differ that a member says it has.
func TestStaticMemberThatRestartsLeavesTheOthersInPeace(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 4, nil)
	ledger := f.ledger(t)
	stays, _ := f.static(t, "a")
	goes, stop := f.static(t, "b")
	awaitOwned(t, stays, 2)
	awaitOwned(t, goes, 2)
	before := stays.members.all()[0].session.Load()
	stop()
	if err := ledger.Write("orders", batch("r", 100)...); err != nil {
		t.Fatal(err)
	}
	back, _ := f.static(t, "b")
	awaitOwned(t, back, 2)
	report := ledger.Close(t, f.endpoint, time.Minute)
	report.Check(t)
	if stays.members.all()[0].session.Load() != before || len(report.Repeated) > 0 {
		t.Errorf("the restart of a member began another generation: %s", report)
	}
}

func TestInstanceIDThatIsUsedTwiceIsTold(t *testing.T) {
	eachAssignment(t, func(t *testing.T, assignment string) {
		f := newField(t, nil)
		f.deps.Kafka.PartitionAssignment = assignment
		harness.CreateTopic(t, f.brokers, "orders", 1, nil)
		older, _ := f.static(t, "a")
		newer, _ := f.static(t, "a")
		want := "is not a member of retryd-orders: another instance has taken its place with the same kafka.instance_id: " +
			"give each instance its own, or stop one of them"
		harness.WaitFor(t, time.Minute, "the older one to be told", func() bool {
			s := older.Status()
			return !s.Ready && s.Fault && len(s.Problems) == 1 && s.Problems[0].Text == want
		})
		if s := newer.Status(); !s.Ready || owns(newer) != 1 {
			t.Errorf("the newer one: ready %v, problems %v, %d partitions", s.Ready, s.Problems, owns(newer))
		}
	})
}

func TestMemberWhosePlaceIsTakenDoesNotJoinAgainAndAgain(t *testing.T) {
	if d := pauseAfter(sarama.ErrFencedInstancedId); d != fencedPause {
		t.Errorf("joins again after %v, want %v", d, fencedPause)
	}
	if d := pauseAfter(sarama.ErrOutOfBrokers); d != rejoinPause {
		t.Errorf("joins again after %v without a broker, want %v", d, rejoinPause)
	}
}

func TestStaticMembersFindPartitionsThatAreAdded(t *testing.T) {
	tests := []struct {
		name       string
		instance   string
		partitions int32
		want       bool
	}{
		{"more partitions", "a", 4, true},
		{"as many", "a", 3, false},
		{"a dynamic member, whose leader finds them", "", 4, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _, _, _ := assigning(t)
			c := s.consumer
			c.relay.deps.Kafka.InstanceID = tt.instance
			c.session.Store(s)
			ended := false
			c.end = func() { ended = true }
			c.checkTopic(map[string]kafka.Topic{"orders": {Name: "orders", ID: s.topicID, Partitions: tt.partitions}})
			if ended != tt.want {
				t.Errorf("session ended: %v, want %v", ended, tt.want)
			}
		})
	}
}
