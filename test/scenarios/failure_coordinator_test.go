package scenarios

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/retryd/retryd/test/harness"
)

// noCoordinator is the failure's title in docs/operations.md.
const noCoordinator = "No coordinator for the groups"

// refusedCommits is how a relay shows whose commits are refused.
func refusedCommits(c *chain) sign {
	return sign{
		manual: noCoordinator,
		began:  cannotCommit, ended: "commits succeed again",
		why: "the group's coordinator moved", says: "cannot commit for group " + c.group(), relay: c.topic, unready: true,
		series: c.series("retryd_relay_ready"), broken: 0, sound: 1,
	}
}

// Members keep their partitions, and their commits are refused for a while.
func TestCommitsThatAreRefusedAreToldAlikeEverywhere(t *testing.T) {
	t.Parallel()
	addrs, refused := brokerThat(t, uncommitted)
	c := newChain(t, addrs, 2, failing("fail"), 200*time.Millisecond, 500*time.Millisecond)
	d := suite.Daemon(t, configuration(c.addrs, "", c.relay("start: earliest")))
	c.write(t, append(records("before", 50), records("fail-before", 50)...)...)
	c.ledger.Close(t, c.endpoint, bound)

	o := refusedCommits(c).expect(t, d)
	refused.Store(true)
	c.write(t, append(records("during", 50), records("fail-during", 50)...)...)
	o.awaitTold(t)
	if got := metric(t, d, c.series("retryd_commits_total", `result="error"`)); got == 0 {
		t.Error("retryd_commits_total tells of no error")
	}
	refused.Store(false)
	o.awaitOver(t)
	c.settle(t, d)
}

// uncommitted returns a broker's answer to who commits offsets and takes it for the
// coordinator that it was; nil to any other request.
func uncommitted(request kmsg.Request) kmsg.Response {
	commit, ok := request.(*kmsg.OffsetCommitRequest)
	if !ok {
		return nil
	}
	response := commit.ResponseKind().(*kmsg.OffsetCommitResponse)
	for _, topic := range commit.Topics {
		t := kmsg.NewOffsetCommitResponseTopic()
		t.Topic = topic.Topic
		for _, partition := range topic.Partitions {
			p := kmsg.NewOffsetCommitResponseTopicPartition()
			p.Partition, p.ErrorCode = partition.Partition, kerr.NotCoordinator.Code
			t.Partitions = append(t.Partitions, p)
		}
		response.Topics = append(response.Topics, t)
	}
	return response
}

// Brokers answer, but for a while none of them coordinates groups: theirs was lost,
// and the partition that it kept their offsets in has no leader.
func TestCoordinatorThatIsGoneIsToldAlikeEverywhere(t *testing.T) {
	t.Parallel()
	addrs, gone := brokerThat(t, uncoordinated)
	c := newChain(t, addrs, 2, failing("fail"), 200*time.Millisecond, 500*time.Millisecond)
	d := suite.Daemon(t, configuration(c.addrs, "", c.relay("start: earliest")))
	c.write(t, append(records("before", 50), records("fail-before", 50)...)...)
	c.ledger.Close(t, c.endpoint, bound)

	lost := sign{
		manual: noCoordinator,
		began:  notMember, ended: "member of the group again",
		why: "coordinator", says: "is not a member of " + c.group(), relay: c.topic, unready: true,
		series: c.series("retryd_relay_ready"), broken: 0, sound: 1,
	}
	commit, member := refusedCommits(c).expect(t, d), lost.expect(t, d)
	gone.Store(true)
	c.write(t, append(records("during", 50), records("fail-during", 50)...)...)
	commit.awaitTold(t)
	if got := metric(t, d, "retryd_kafka_reachable"); got != 1 {
		t.Errorf("retryd_kafka_reachable is %v, want 1: brokers answer", got)
	}
	awaitPutOut(t, d)
	member.awaitTold(t)
	gone.Store(false)
	member.awaitOver(t, cannotCommit, lateCommit, noLastCommit, gaveUp)
	c.ledger.Close(t, c.endpoint, bound)
	d.Stop(t)
	c.ledger.Close(t, c.endpoint, 0).Check(t)
}

// brokerThat runs an embedded broker that answers in another way while wrong is true;
// nil is its usual answer.
func brokerThat(t *testing.T, answer func(kmsg.Request) kmsg.Response) (addrs []string, wrong *atomic.Bool) {
	t.Helper()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	wrong = new(atomic.Bool)
	broker.Control(func(request kmsg.Request) (response kmsg.Response, err error, handled bool) {
		broker.KeepControl()
		if wrong.Load() {
			response = answer(request)
		}
		return response, nil, response != nil
	})
	return broker.ListenAddrs(), wrong
}

// awaitPutOut waits until a daemon that reaches no coordinator has lost the partitions
// of one of its groups, and fails the test if it ever calls itself ready.
func awaitPutOut(t *testing.T, d *harness.Daemon) {
	t.Helper()
	harness.WaitFor(t, recheckBound, "the end of a session", func() bool {
		now, text := stateOf(t, d)
		if now.Ready {
			t.Fatalf("without a coordinator the daemon calls itself ready:\n%s", text)
		}
		for _, tier := range now.Relays[0].Tiers {
			if len(tier.Partitions) == 0 {
				return true
			}
		}
		return false
	})
}

// uncoordinated returns a broker's answer to who looks for a coordinator, or takes it
// for the one that it was; nil to any other request.
func uncoordinated(request kmsg.Request) kmsg.Response {
	unavailable, moved := kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code
	switch r := request.ResponseKind().(type) {
	case *kmsg.FindCoordinatorResponse:
		r.ErrorCode, r.NodeID = unavailable, -1
		for _, key := range request.(*kmsg.FindCoordinatorRequest).CoordinatorKeys {
			c := kmsg.NewFindCoordinatorResponseCoordinator()
			c.Key, c.ErrorCode, c.NodeID = key, unavailable, -1
			r.Coordinators = append(r.Coordinators, c)
		}
		return r
	case *kmsg.JoinGroupResponse:
		r.ErrorCode = moved
		return r
	case *kmsg.SyncGroupResponse:
		r.ErrorCode = moved
		return r
	case *kmsg.HeartbeatResponse:
		r.ErrorCode = moved
		return r
	}
	return uncommitted(request)
}
