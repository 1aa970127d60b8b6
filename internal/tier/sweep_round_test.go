package tier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/policy"
)

// round is a claim of the only tier, of 5 s, which writes to the tail of its own
// partition and reads that again. The test is in the place of run.
type round struct {
	*rig
	tail   []*sarama.ConsumerMessage // not read yet
	writes int
}

func newRound(t *testing.T) *round {
	t.Helper()
	src := source{topic: rigTopic, label: "1", place: 1, step: 1, least: 4 * time.Second, delay: 5 * time.Second, most: 6 * time.Second}
	r := &round{rig: mixing(t, src)}
	r.relay.schedule.Steps = []policy.Step{{Delay: 5 * time.Second, Jitter: 0.2}}
	r.relay.rests = r.relay.schedule.Rests()
	to := &target{writer: r, topic: rigTopic, label: "1", partitions: 1}
	r.relay.routes.Store(&routes{tiers: []*target{to}})
	return r
}

// Send is what the tier's topic does with a write.
func (r *round) Send(m *sarama.ProducerMessage, done kafka.Done) {
	r.writes++
	r.append(m.Timestamp, m.Headers...)
	done(0, nil)
}

func (r *round) append(written time.Time, headers ...sarama.RecordHeader) {
	r.tail = append(r.tail, &sarama.ConsumerMessage{Topic: rigTopic, Offset: r.next, Timestamp: written, Headers: pointers(headers)})
	r.next++
}

func (r *round) appendDue(wait time.Duration) {
	r.append(time.Now(), sarama.RecordHeader{Key: []byte("x-not-before"), Value: []byte(millis(time.Now().Add(wait)))})
}

// second is what run does within one, and the commit writer, and a worker.
func (r *round) second() (delivered int) {
	now := time.Now()
	r.session.sent.Store(new(now))
	r.position(position{})
	r.claim.sweep(now)
	r.claim.park()
	for len(r.tail) > 0 && r.reads(now) {
		n := min(len(r.tail), maxDrain)
		for _, m := range r.tail[:n] {
			r.claim.take(m, time.Now())
		}
		r.tail = r.tail[n:]
	}
	for j, _ := r.takeDue(); j != nil; j, _ = r.takeDue() {
		r.complete(j)
		delivered++
	}
	time.Sleep(time.Second)
	return delivered
}

// More records wait for hours than can be told, in a relay that has no place for them
// but where they are read again at once.
func TestLongWaitsThatTheCompletedSetHasNoRoomForGoRoundOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiting, minutes = 25_000, 4
		r := newRound(t)
		for range waiting {
			r.appendDue(6 * time.Hour)
		}
		var behind time.Time // when a due record was written behind all that waits
		for minute := range minutes {
			before := r.writes
			for range 60 {
				if behind.IsZero() {
					behind = time.Now()
					r.appendDue(0)
				}
				if r.second() > 0 {
					behind = time.Time{}
				}
				if late := time.Since(behind); !behind.IsZero() && late > time.Minute+sweepInterval {
					t.Fatalf("minute %d: a due record is not delivered after %v", minute, late)
				}
			}
			if n := r.writes - before; n > waiting {
				t.Errorf("minute %d: %d writes, want at most one of each record", minute, n)
			}
		}
	})
}
