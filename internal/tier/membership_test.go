package tier

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/kafka"
)

// ended is a session whose end has a cause.
type ended struct {
	sarama.ConsumerGroupSession
	ctx context.Context
}

func (e ended) Context() context.Context { return e.ctx }

func endedBy(cause error) ended {
	ctx, end := context.WithCancelCause(context.Background())
	end(cause)
	return ended{ctx: ctx}
}

// observedMember is observed, with a group.
func observedMember(t *testing.T) (*rig, *observer.ObservedLogs) {
	t.Helper()
	r, logs := observed(t)
	r.consumer.source.group = "g1"
	return r, logs
}

// lose ends the rig's session as the client library does.
func (r *rig) lose(t *testing.T, cause error) {
	t.Helper()
	r.consumer.session.Store(r.session)
	r.session.stop = func() {}
	r.session.acked[0] = r.position(position{}) // nothing to commit
	if err := (handler{r.consumer}).Cleanup(endedBy(cause)); err != nil {
		t.Fatal(err)
	}
}

func TestSessionThatIsLostMakesUnreadyWhenItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observedMember(t)
		r.relay.members.expect([]*consumer{r.consumer})
		go r.relay.tick(t.Context())
		r.lose(t, sarama.ErrUnknownMemberId)
		joined := func() bool { return r.relay.Status().Tiers[0].Joined }
		time.Sleep(moment - time.Second)
		if s := r.relay.Status(); !s.Ready || !joined() {
			t.Errorf("not ready within a moment: %v", s.Problems)
		}
		time.Sleep(2 * time.Second)
		want := "is not a member of g1: the session was lost, joining anew: "
		s := r.relay.Status()
		if s.Ready || s.Fault || joined() || len(s.Problems) != 1 || s.Problems[0].Text[:len(want)] != want {
			t.Errorf("ready %v, fault %v, joined %v, problems %v; want it unready with %q", s.Ready, s.Fault, joined(), s.Problems, want)
		}
		if n := logs.FilterMessage(kindMember.began()).Len(); n != 0 {
			t.Errorf("%d lines within the session timeout", n)
		}
		time.Sleep(time.Hour)
		if n := logs.FilterMessage(kindMember.began()).Len(); n != 1 {
			t.Errorf("%d lines, want one when it takes longer than usual: %v", n, lines(logs))
		}
		r.relay.over(kindMember, "g1")
		if n := logs.FilterMessage(kindMember.ended()).Len(); n != 1 || !r.relay.Status().Ready {
			t.Errorf("%d lines tell of the end, ready %v", n, r.relay.Status().Ready)
		}
	})
}

func TestUsualRebalanceIsNotHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observedMember(t)
		r.relay.reportReady()
		go r.relay.tick(t.Context())
		for range 20 {
			r.lose(t, sarama.ErrRebalanceInProgress)
			time.Sleep(moment - 2*time.Second)
			if !r.relay.Status().Ready {
				t.Fatal("not ready")
			}
			r.relay.over(kindMember, "g1")
			time.Sleep(moment)
		}
		if diff := cmp.Diff([]string{"info relay is ready"}, lines(logs)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

func TestGroupThatGathersAgainAndAgainIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observedMember(t)
		go r.relay.tick(t.Context())
		for range 20 {
			r.lose(t, sarama.ErrRebalanceInProgress)
			time.Sleep(moment - 2*time.Second)
			r.relay.over(kindMember, "g1")
			time.Sleep(time.Second)
		}
		r.lose(t, sarama.ErrRebalanceInProgress)
		if s := r.relay.Status(); s.Ready {
			t.Errorf("ready although the group gathers every %v", moment-time.Second)
		}
		if n := logs.FilterMessage(kindMember.began()).Len(); n == 0 {
			t.Error("no line tells of it")
		}
	})
}

func TestPartitionWithoutALeaderIsToldWhenItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observedMember(t)
		r.start()
		defer r.stop()
		go r.relay.tick(t.Context())
		began := time.Now()
		leaderless := &sarama.ConsumerError{Topic: rigTopic, Partition: 1, Err: sarama.ErrLeaderNotAvailable}
		for time.Since(began) < time.Hour {
			r.consumer.failed(leaderless)
			r.read(time.Now().Add(time.Hour)) // of partition 0, which says nothing of 1
			time.Sleep(2*time.Second + time.Millisecond)
			s, lasts := r.relay.Status(), time.Since(began)
			if s.Ready && lasts > leaderMoves+tickInterval || !s.Ready && lasts < leaderMoves {
				t.Fatalf("ready %v after %v, want it until %v: %v", s.Ready, lasts, leaderMoves, s.Problems)
			}
		}
		s := r.relay.Status()
		if want := "cannot read orders.retry.1/1: the partition has no leader for the moment"; s.Fault || len(s.Problems) != 1 || s.Problems[0].Text != want {
			t.Errorf("fault %v, problems %v, want %q", s.Fault, s.Problems, want)
		}
		time.Sleep(readQuiet + tickInterval)
		want := []string{
			"warn cannot read a partition for= topic=orders.retry.1 partition=1 error=the partition has no leader for the moment",
			"info partition is read again topic=orders.retry.1 partition=1",
		}
		var got []string
		for _, line := range lines(logs) {
			if after := strings.Index(line, " after="); after >= 0 {
				line = line[:after]
			}
			if !strings.Contains(line, "relay is ready") {
				got = append(got, line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || !r.relay.Status().Ready {
			t.Errorf("ready %v, log (-want +got):\n%s", r.relay.Status().Ready, diff)
		}
	})
}

// The session ends with it, and the next one tells what became of the records.
func TestOffsetThatIsGoneIsNoTroubleOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observedMember(t)
		r.consumer.failed(&sarama.ConsumerError{Topic: rigTopic, Err: sarama.ErrOffsetOutOfRange})
		if s := r.relay.Status(); !s.Ready || logs.FilterMessage(kindRead.began()).Len() > 0 {
			t.Errorf("ready %v, log %v; want it ready, and no line", s.Ready, lines(logs))
		}
		time.Sleep(moment)
		r.relay.ripen(time.Now())
		if r.relay.Status().Ready || logs.FilterMessage(kindRead.began()).Len() != 1 {
			t.Errorf("ready, or not one line, although it lasts: %v", lines(logs))
		}
	})
}

func TestPartitionThatMayNotBeReadIsToldAtOnceWhateverOthersDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := observedMember(t)
		r.start()
		for p := range int32(2) {
			r.consumer.failed(&sarama.ConsumerError{Topic: rigTopic, Partition: p, Err: sarama.ErrTopicAuthorizationFailed})
		}
		r.read(time.Now().Add(time.Hour)) // of partition 0
		s := r.relay.Status()
		if want := "cannot read orders.retry.1/1: not authorized: grant Read on the topic"; s.Ready || len(s.Problems) != 1 || s.Problems[0].Text != want {
			t.Errorf("ready %v, problems %v, want it unready with %q", s.Ready, s.Problems, want)
		}
		r.stop()
		r.consumer.failed(&sarama.ConsumerError{Topic: rigTopic, Partition: 0, Err: sarama.ErrTopicAuthorizationFailed})
		r.session.claims[1] = newClaim(r.session, 1, 0)
		r.session.forget()
		if s := r.relay.Status(); len(s.Problems) > 0 {
			t.Errorf("problems %v after the session", s.Problems)
		}
	})
}

func TestSessionThatIsLostAfterItsCommitsFailedKeepsUnready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := observedMember(t)
		r.relay.raise(kindCommit, "g1", sarama.ErrNotCoordinatorForConsumer)
		r.lose(t, sarama.ErrNotCoordinatorForConsumer)
		s := r.relay.Status()
		want := "is not a member of g1: the session was lost, joining anew: the group's coordinator moved"
		if s.Ready || len(s.Problems) != 1 || s.Problems[0].Text != want {
			t.Errorf("ready %v, problems %v, want it unready with %q", s.Ready, s.Problems, want)
		}
	})
}

func TestFirstJoinIsNotReadyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := observedMember(t)
		r.relay.expect([]source{r.consumer.source})
		if s := r.relay.Status(); s.Ready || s.Tiers[0].Joined {
			t.Errorf("ready %v, joined %v before the first join", s.Ready, s.Tiers[0].Joined)
		}
	})
}

func TestHeartbeatThatFailsIsNoTopicThatCannotBeRead(t *testing.T) {
	r, logs := observedMember(t)
	r.consumer.failed(sarama.ErrNotCoordinatorForConsumer)
	r.consumer.failed(sarama.ErrGroupAuthorizationFailed)
	if s := r.relay.Status(); len(s.Problems) > 0 || logs.Len() > 0 {
		t.Errorf("problems %v, log %v; want none: the end of the session tells", s.Problems, lines(logs))
	}
	if e := r.consumer.lastError.get(); e == nil || e.Text != "not authorized: grant Read on the group" {
		t.Errorf("last error %v", e)
	}
}

func TestRetiredTierWhoseTopicIsGoneIsNoTroubleAnyMore(t *testing.T) {
	r, _ := observedMember(t)
	c := r.consumer
	c.source.retired = true
	c.absent(&kafka.PlanError{Problems: []string{"gone"}})
	for range 2 {
		c.checkTopic(nil)
	}
	c.absent(errors.New("it tries once more before it sees"))
	r.lose(t, nil)
	if s := r.relay.Status(); !s.Ready || len(s.Problems) > 0 {
		t.Errorf("ready %v, problems %v", s.Ready, s.Problems)
	}
}
