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

// Kafka lets it in without another generation, and the client library, which does not see
// that it leads the group, looks for no partitions.
func TestStaticMemberThatRestartsFindsPartitionsThatWereAddedMeanwhile(t *testing.T) {
	eachAssignment(t, func(t *testing.T, assignment string) {
		f := newField(t, nil)
		f.deps.Kafka.PartitionAssignment = assignment
		harness.CreateTopic(t, f.brokers, "orders", 3, nil)
		before, stop := f.static(t, "a")
		awaitOwned(t, before, 3)
		stop()
		harness.AddPartitions(t, f.brokers, "orders", 6)
		f.static(t, "a")
		ledger := f.ledger(t)
		if err := ledger.Write("orders", batch("r", 100)...); err != nil { // some to each partition
			t.Fatal(err)
		}
		ledger.Close(t, f.endpoint, time.Minute).Check(t)
	})
}

// checked is a session of a member that has looked at a topic of so many partitions, and
// tells whether that ended it.
func checked(t *testing.T, s *session, partitions int32) (ended bool) {
	t.Helper()
	c := s.consumer
	c.session.Store(s)
	c.end = func() { ended = true }
	c.checkTopic(map[string]kafka.Topic{"orders": {Name: "orders", ID: s.topicID, Partitions: partitions}})
	return ended
}

func TestStaticMemberJoinsAnewWherePartitionsHaveNoOwner(t *testing.T) {
	tests := []struct {
		name      string
		instance  string
		committed []int32 // by their owners, beside partition 0, which is its own
		want      bool
	}{
		{"none of them has a commit", "a", nil, true},
		{"one has no commit", "a", []int32{1}, true},
		{"all have one", "a", []int32{1, 2}, false},
		{"a dynamic member, whose leader finds them", "", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _, f, _ := assigning(t)
			s.consumer.relay.deps.Kafka.InstanceID = tt.instance
			for _, p := range tt.committed {
				f.commitElsewhere(t, p, 7)
			}
			if ended := checked(t, s, 3); ended != tt.want {
				t.Errorf("session ended: %v, want %v", ended, tt.want)
			}
		})
	}
}

// With cooperative-sticky the session goes on when partitions are added, and finds them
// committed: it need not end.
func TestSessionThatHasSeenItsTopicGrowGoesOn(t *testing.T) {
	s, _, f, _ := assigning(t)
	s.consumer.relay.deps.Kafka.InstanceID = "a"
	f.commitElsewhere(t, 1, 0)
	if checked(t, s, 2) {
		t.Error("session ended although each partition has an owner")
	}
	if !checked(t, s, 3) {
		t.Error("session goes on although a partition was added")
	}
	f.commitElsewhere(t, 2, 0)
	if checked(t, s, 3) {
		t.Error("session ended although the partition that was added has an owner")
	}
}

// Its owner may be a static member that is away. Joining anew brings no commit then, and
// stops the others: it is not done again before that one's session has timed out.
func TestStaticMemberDoesNotJoinAnewAgainAndAgain(t *testing.T) {
	first, _, f, logs := assigning(t)
	deps := &first.consumer.relay.deps
	deps.Kafka.InstanceID, deps.Kafka.SessionTimeout = "a", time.Hour
	f.commitElsewhere(t, 1, 0)
	if !checked(t, first, 3) {
		t.Error("session goes on although a partition has no owner")
	}
	if logs.FilterMessageSnippet("partitions have no owner").Len() != 1 {
		t.Errorf("no line says why the session ends: %v", lines(logs))
	}
	next := &session{consumer: first.consumer, topicID: first.topicID}
	if checked(t, next, 3) {
		t.Error("the next session ended, too")
	}
	deps.Kafka.SessionTimeout = 0
	if !checked(t, next, 3) {
		t.Error("session goes on for ever although a partition has no owner")
	}
}

func TestMemberThatCannotAskForCommitsGoesOn(t *testing.T) {
	s, _, f, logs := assigning(t)
	s.consumer.relay.deps.Kafka.InstanceID = "a"
	f.cluster.HangUp()
	if checked(t, s, 3) || logs.FilterMessageSnippet("partitions without an owner").Len() != 1 {
		t.Errorf("session ended, or not one line tells: %v", lines(logs))
	}
}
