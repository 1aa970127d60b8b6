package control

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
)

// A connection that was closed, or a leader that moves, is told only when it lasts.
func TestWhatPassesByItselfIsToldOnlyWhenItLasts(t *testing.T) {
	for _, err := range []error{io.EOF, sarama.ErrNotLeaderForPartition, fmt.Errorf("read topic: %w", sarama.ErrUnknownTopicOrPartition)} {
		reading(t, func(t *testing.T, topic *fakeTopic, r *rig) {
			for range 2 { // each time anew
				topic.fail(err)
				time.Sleep(passingBound - 2*retryPause)
				topic.fail(nil)
				time.Sleep(2 * retryPause)
				r.want(t, "read")
			}
			topic.fail(err)
			time.Sleep(passingBound + retryPause/2)
			r.want(t, "unread: "+err.Error())
		})
	}
}

// While no broker answers that alone is told, and for a while afterwards nothing of the
// topic either.
func TestBrokersOfWhichNoneAnswersAreNoNewsOfTheTopic(t *testing.T) {
	reading(t, func(t *testing.T, topic *fakeTopic, r *rig) {
		topic.fail(io.EOF)
		time.Sleep(passingBound - retryPause)
		r.away.Store(true)
		time.Sleep(time.Hour)
		r.away.Store(false)
		time.Sleep(passingBound - 2*retryPause)
		r.want(t)
		time.Sleep(3 * retryPause)
		synctest.Wait()
		if told := r.said(); len(told) == 0 || told[0] != "unread: EOF" {
			t.Errorf("told %q, want that it cannot be read", told)
		}
	})
}

// A look that nobody answers has found nothing, be it good or bad.
func TestLookThatIsNotAnsweredFindsNothing(t *testing.T) {
	reading(t, func(t *testing.T, topic *fakeTopic, r *rig) {
		looked := make(chan error)
		topic.change(func() { topic.slow = looked })
		for _, each := range []struct {
			err  error
			told []string
		}{
			{io.EOF, nil},
			{&kafka.PlanError{Problems: []string{"it has 2 partitions"}}, []string{"looked: it has 2 partitions"}},
			{errors.Join(io.EOF), nil},
			{nil, []string{"in order"}},
		} {
			looked <- each.err
			time.Sleep(3 * time.Second)
			r.want(t, each.told...)
		}
	})
}
