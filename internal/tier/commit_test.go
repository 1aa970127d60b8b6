package tier

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
)

func TestCommitsThatFailAreATroubleWhenAttemptsStop(t *testing.T) {
	const lease = rigSession / 2
	tests := []struct {
		name    string
		err     error
		lease   time.Duration // how old the last acknowledged commit is
		failing time.Duration
		want    bool
	}{
		{"once", sarama.ErrOutOfBrokers, 0, 0, false},
		{"while attempts start", sarama.ErrOutOfBrokers, 0, commitsMayFail - time.Second, false},
		{"for long", sarama.ErrOutOfBrokers, 0, commitsMayFail, true},
		{"once after a group was idle", sarama.ErrOutOfBrokers, time.Hour, 100 * time.Millisecond, false},
		{"while no attempt starts", sarama.ErrOutOfBrokers, lease, moment, true},
		{"denied", &kafka.PlanError{}, 0, 0, true},
		{"put out of the group, whose next session tells how it goes on", fmt.Errorf("commit: %w", kafka.ErrFenced), time.Hour, time.Hour, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newStoppedRig(t, minute, windowOf(100))
				r.session.lease(time.Now().Add(tt.failing - tt.lease))
				began := time.Now()
				r.session.cannotCommit(tt.err, began)
				time.Sleep(tt.failing)
				r.session.cannotCommit(tt.err, time.Now())
				if got := len(r.relay.Status().Problems) > 0; got != tt.want {
					t.Errorf("a problem: %v, want %v", got, tt.want)
				}
				r.session.forget()
				if n := len(r.relay.Status().Problems); n != 0 {
					t.Errorf("%d problems after the session, want none: it commits no more", n)
				}
			})
		})
	}
}
