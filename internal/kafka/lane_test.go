package kafka

import (
	"errors"
	"strconv"
	"testing"

	"github.com/IBM/sarama"
	"pgregory.net/rapid"
)

// enqueued is a producer that acknowledges when the test says so.
type enqueued struct {
	messages []*sarama.ProducerMessage // not yet acknowledged, as they came
	total    int
	closed   bool
}

func (e *enqueued) enqueue(m *sarama.ProducerMessage) bool {
	if e.closed {
		return false
	}
	e.messages = append(e.messages, m)
	e.total++
	return true
}

func TestLaneKeepsItsBoundAndReportsEveryRecordOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.IntRange(1, 4).Draw(t, "bound")
		producer := &enqueued{}
		lane := newLane(producer, bound)
		var reported []error // per record; nil: not yet
		acknowledged := errors.New("acknowledged")
		refused := errors.New("refused")
		send := func() {
			n := len(reported)
			reported = append(reported, nil)
			lane.send(&sarama.ProducerMessage{Topic: strconv.Itoa(n)}, func(_ int64, err error) {
				if reported[n] != nil {
					t.Fatalf("record %d is reported twice: %v, then %v", n, reported[n], err)
				}
				if err == nil {
					err = acknowledged
				}
				reported[n] = err
			})
		}
		answer := func(i int, err error) {
			m := producer.messages[i]
			producer.messages = append(producer.messages[:i:i], producer.messages[i+1:]...)
			finish(m, 0, err)
		}
		next := 0 // the record that must be enqueued next
		t.Repeat(map[string]func(*rapid.T){
			"send":  func(*rapid.T) { send() },
			"close": func(*rapid.T) { producer.closed = true },
			"answer": func(t *rapid.T) {
				if len(producer.messages) == 0 {
					t.Skip("nothing in flight")
				}
				i := rapid.IntRange(0, len(producer.messages)-1).Draw(t, "which")
				answer(i, rapid.SampledFrom([]error{nil, refused}).Draw(t, "how"))
			},
			"": func(t *rapid.T) {
				if len(producer.messages) > bound {
					t.Fatalf("%d in flight, at most %d may be", len(producer.messages), bound)
				}
				waiting := len(lane.waiting)
				if waiting > 0 && len(producer.messages) < bound && !producer.closed {
					t.Fatalf("%d wait although only %d of %d places are taken", waiting, len(producer.messages), bound)
				}
				for ; next < producer.total; next++ {
					i := len(producer.messages) - producer.total + next
					if i >= 0 && producer.messages[i].Topic != strconv.Itoa(next) {
						t.Fatalf("record %s is sent before %d", producer.messages[i].Topic, next)
					}
				}
			},
		})
		producer.closed = true
		for len(producer.messages) > 0 {
			answer(0, refused)
		}
		for n, err := range reported {
			if err == nil {
				t.Fatalf("record %d is never reported", n)
			}
			if n < producer.total && errors.Is(err, errClosed) {
				t.Fatalf("record %d was sent, but is reported as %v", n, err)
			}
		}
		if lane.inFlight != 0 || len(lane.waiting) != 0 {
			t.Fatalf("%d places leaked, %d records wait for ever", lane.inFlight, len(lane.waiting))
		}
	})
}

func TestRefusedForSizeTellsSizeFromOtherErrors(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"acknowledged", nil, false},
		{"by the topic", sarama.ErrMessageSizeTooLarge, true},
		{"by the segments", sarama.ErrMessageSetSizeTooLarge, true},
		{"by the client", sarama.ConfigurationError("larger than configured"), true},
		{"no leader", sarama.ErrLeaderNotAvailable, false},
		{"stopping", sarama.ErrShuttingDown, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := refusedForSize(tt.err); got != tt.want {
				t.Errorf("refused for size: %v, want %v", got, tt.want)
			}
			err := (&Target{topic: "a"}).explained(tt.err)
			if got := errors.Is(err, ErrTooLarge); got != tt.want {
				t.Errorf("%v is %v: %v, want %v", err, ErrTooLarge, got, tt.want)
			}
			if !errors.Is(err, tt.err) {
				t.Errorf("%v hides %v", err, tt.err)
			}
		})
	}
}
