package tier

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
)

func TestStopHangsUpOnAMemberThatJoinsOrLastsForNothing(t *testing.T) {
	const soon, late = rejoinPause + rejoinPause/2, kafka.ForwardTimeout + rejoinPause/2
	tests := []struct {
		name             string
		joining, session bool
		inFlight         time.Duration // how long after the stop
		waited           time.Duration
		want             int
	}{
		{"joining", true, false, 0, 2500 * time.Millisecond, 3}, // at once, and each second
		{"records in flight, which take as long as they take", false, true, time.Hour, time.Minute, 0},
		{"no record in flight any more, the last commit", false, true, time.Minute + rejoinPause/2, time.Minute + soon + rejoinPause, 0},
		{"the same, since just before a look", false, true, time.Minute - time.Millisecond, time.Minute + soon, 0},
		{"no record in flight any more, joining another generation", false, true, time.Minute + rejoinPause/2, time.Minute + soon + 3*rejoinPause, 2},
		{"a session without records, the last commit", false, true, 0, soon + rejoinPause, 0},
		{"a session without records, joining another generation", false, true, 0, soon + 3*rejoinPause, 2},
		{"after the session, leaving the group", false, false, 0, kafka.ForwardTimeout, 0},
		{"still leaving, from a broker that hangs", false, false, 0, late + rejoinPause, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &consumer{}
				c.joining.Store(tt.joining)
				s := &session{}
				if tt.session {
					c.session.Store(s)
				}
				s.running.Store(1)
				ctx, stop := context.WithCancel(t.Context())
				ended, done, hungUp := make(chan struct{}), make(chan struct{}), 0
				go func() {
					defer close(done)
					c.interrupt(ctx, ended, func() { hungUp++ })
				}()
				time.Sleep(time.Hour) // nothing happens before the stop
				time.AfterFunc(tt.inFlight, func() { s.running.Store(0) })
				synctest.Wait()
				stop()
				time.Sleep(tt.waited)
				close(ended)
				<-done
				cut := tt.want > 0 && (tt.joining || tt.session) // what follows a session is not told to have been cut off
				if hungUp != tt.want || c.cut.Load() != cut {
					t.Errorf("hung up %d times, known to be cut %v; want %d, %v", hungUp, c.cut.Load(), tt.want, cut)
				}
			})
		})
	}
}

func TestTopicThatCannotBeReadIsATroubleUntilARecordComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		ready := func() bool { return r.relay.Status().Ready }
		r.consumer.failed(&sarama.ConsumerError{Topic: rigTopic, Err: sarama.ErrOutOfBrokers})
		if !ready() {
			t.Error("not ready because of a connection that broke: the session ends if it stays so")
		}
		r.consumer.failed(&sarama.ConsumerError{Topic: rigTopic, Err: sarama.ErrTopicAuthorizationFailed})
		if s := r.relay.Status(); s.Ready || !s.Fault {
			t.Errorf("ready %v, fault %v although the topic may not be read", s.Ready, s.Fault)
		}
		r.read(time.Now())
		if !ready() {
			t.Error("a record came, and the relay is not ready")
		}
		r.complete(r.worker())
	})
}
