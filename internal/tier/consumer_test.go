package tier

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
)

func TestStopHangsUpOnlyOnAMemberThatJoins(t *testing.T) {
	tests := []struct {
		name             string
		joining, session bool
		waited           time.Duration
		want             int
	}{
		{"joining", true, false, 2500 * time.Millisecond, 3}, // at once, and each second
		{"in a session, which ends by itself", false, true, time.Minute, 0},
		{"after the session, leaving the group", false, false, kafka.ForwardTimeout, 0},
		{"still leaving, from a broker that hangs", false, false, kafka.ForwardTimeout + 1500*time.Millisecond, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &consumer{}
				c.joining.Store(tt.joining)
				if tt.session {
					c.session.Store(&session{})
				}
				ctx, stop := context.WithCancel(t.Context())
				ended, done, hungUp := make(chan struct{}), make(chan struct{}), 0
				go func() {
					defer close(done)
					c.interrupt(ctx, ended, func() { hungUp++ })
				}()
				time.Sleep(time.Hour) // nothing happens before the stop
				stop()
				time.Sleep(tt.waited)
				close(ended)
				<-done
				if hungUp != tt.want {
					t.Errorf("hung up %d times, want %d", hungUp, tt.want)
				}
			})
		})
	}
}

func TestCommitIsATroubleWhenItFailsAgainAndAgain(t *testing.T) {
	r := newStoppedRig(t, minute, windowOf(100))
	r.consumer.source.group = "g"
	problems := func() int { return len(r.relay.Status(time.Now()).Problems) }
	for range 10 {
		r.session.cannotCommit(fmt.Errorf("commit: %w", kafka.ErrFenced)) // the next session tells how it goes on
	}
	for range manyFailed - 1 {
		r.session.cannotCommit(sarama.ErrOutOfBrokers)
	}
	if n := problems(); n != 0 {
		t.Fatalf("%d problems after %d commits that failed", n, manyFailed-1)
	}
	r.session.cannotCommit(sarama.ErrOutOfBrokers)
	if n := problems(); n != 1 {
		t.Fatalf("%d problems after %d commits that failed, want 1", n, manyFailed)
	}
	r.session.member.Group = "g"
	r.session.forget()
	if n := problems(); n != 0 {
		t.Errorf("%d problems after the session, want none: it commits no more", n)
	}
}

func TestTopicThatCannotBeReadIsATroubleUntilARecordComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		ready := func() bool { return r.relay.Status(time.Now()).Ready }
		r.consumer.cannotRead(&sarama.ConsumerError{Topic: rigTopic, Err: sarama.ErrOutOfBrokers})
		if !ready() {
			t.Error("not ready because of a connection that broke: the session ends if it stays so")
		}
		r.consumer.cannotRead(&sarama.ConsumerError{Topic: rigTopic, Err: sarama.ErrTopicAuthorizationFailed})
		if s := r.relay.Status(time.Now()); s.Ready || !s.Fault {
			t.Errorf("ready %v, fault %v although the topic may not be read", s.Ready, s.Fault)
		}
		r.read(time.Now())
		if !ready() {
			t.Error("a record came, and the relay is not ready")
		}
		r.complete(r.worker())
	})
}
