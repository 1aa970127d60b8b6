package tier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/window"
)

// minute is a tier of one minute, whose waits may be a fifth longer.
var minute = source{topic: rigTopic, label: "1", step: 1, delay: time.Minute, most: 72 * time.Second}

// readingNow has the claim look, and returns what a measurement makes of it.
func (r *rig) readingNow(end, young int64) metrics.Partition {
	r.ask()
	synctest.Wait()
	return r.reading(time.Now(), end, young)
}

func originAt(at time.Time) (headers []sarama.RecordHeader) {
	for name, value := range map[string]string{"x-origin-topic": "orders", "x-origin-partition": "0", "x-origin-offset": "0", "x-origin-timestamp": millis(at)} {
		headers = append(headers, sarama.RecordHeader{Key: []byte(name), Value: []byte(value)})
	}
	return headers
}

func TestReadingCountsEveryRecordWhereverItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, minute, window.Config{Records: 100, Horizon: time.Hour})
		defer r.stop()
		routed(r, nil, nil)
		begin := time.Now()
		r.read(begin, originAt(begin.Add(-time.Hour))...) // will be in flight
		r.read(begin.Add(time.Second))                    // its write will fail
		r.read(begin.Add(2 * time.Second))                // will be due
		r.read(begin.Add(30 * time.Second))
		r.read(begin.Add(90 * time.Second))
		inFlight := r.worker()
		refused := r.worker()
		r.judged(refused, &move{})
		r.giveBack(refused, time.Now().Add(time.Hour)) // held until it is written again
		time.Sleep(3*time.Second - time.Since(begin))
		want := metrics.Partition{
			Due: 3, Held: 2,
			OldestDue: 3 * time.Second, // in flight, and not complete
			Oldest:    time.Hour + 3*time.Second,
			Furthest:  time.UnixMilli(begin.Add(90 * time.Second).UnixMilli()),
		}
		if diff := cmp.Diff(want, r.readingNow(5, -1)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r.complete(inFlight)
		want.Due, want.OldestDue, want.Oldest = 2, 2*time.Second, 3*time.Second
		if diff := cmp.Diff(want, r.readingNow(5, -1)); diff != "" {
			t.Errorf("once the oldest is complete (-want +got):\n%s", diff)
		}
		r.revoke()
	})
}

func TestReadingSplitsWhatIsNotReadByItsAge(t *testing.T) {
	tests := []struct {
		name       string
		end, young int64
		due, held  int64
	}{
		{"nothing is unread", 10, -1, 0, 0},
		{"no record is young", 110, -1, 100, 0},
		{"all are young", 110, 10, 0, 100},
		{"the young ones begin before what is read", 110, 3, 0, 100},
		{"some are young", 110, 40, 30, 70},
		{"the young ones begin behind the end", 110, 200, 100, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newStoppedRig(t, minute, window.Config{Records: 100}).claim
			c.seen.next = 10
			now := time.Now()
			got := c.reading(now, tt.end, tt.young)
			want := metrics.Partition{Due: tt.due, Held: tt.held}
			if tt.held > 0 {
				want.Furthest = now.Add(72 * time.Second) // the longest wait from now on
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMainRecordIsDueSinceItWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, source{topic: "orders", label: "main"}, window.Config{Records: 100})
		defer r.stop()
		r.messages <- &sarama.ConsumerMessage{Topic: "orders", Timestamp: time.Now().Add(-time.Minute)}
		j := r.worker()
		r.giveBack(j, time.Now()) // the endpoint is at fault: it waits its turn again
		want := metrics.Partition{Due: 1, OldestDue: time.Minute, Oldest: time.Minute}
		if diff := cmp.Diff(want, r.readingNow(1, -1)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestMarkersAtTheEndAreNoLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, source{topic: "orders", label: "main"}, window.Config{Records: 100})
		defer r.stop()
		if got := r.readingNow(2, -1); got.Due != 2 {
			t.Errorf("at first: %d due, want 2: they may be records", got.Due)
		}
		time.Sleep(fetchTime)
		if got := r.readingNow(2, -1); got.Due != 0 {
			t.Errorf("then: %d due, want 0: the client fetches, and nothing came", got.Due)
		}
		r.relay.raise(kindRead, "orders/0", sarama.ErrTopicAuthorizationFailed)
		if got := r.readingNow(2, -1); got.Due != 2 {
			t.Errorf("while the topic cannot be read: %d due, want 2", got.Due)
		}
	})
}

// What is not read although the client does not fetch are no markers.
func TestUnreadRecordsCountWhileNothingIsFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, source{topic: rigTopic, label: "1", step: 1, delay: time.Minute, least: time.Minute}, window.Config{Records: 100, Horizon: 5 * time.Second})
		defer r.stop()
		r.read(time.Now().Add(2 * time.Minute)) // the next ones are due later than the horizon
		unread := func() int64 {
			at := r.readingNow(101, -1)
			return at.Due
		}
		for range 3 {
			if n := unread(); n != 100 || !r.group.isPaused() {
				t.Fatalf("%d unread, paused %v, want 100 while it pauses", n, r.group.isPaused())
			}
			time.Sleep(10 * time.Second)
		}
		for r.group.isPaused() {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if n := unread(); n != 100 {
			t.Errorf("%d unread in the first look after a pause, want 100: the fetch has not answered yet", n)
		}
		time.Sleep(fetchTime + tickInterval)
		if n := unread(); n != 0 {
			t.Errorf("%d unread although the client fetches, want none", n)
		}
	})
}

func TestRecordsThatAreDueAndUnreadHaveAnAge(t *testing.T) {
	c := newStoppedRig(t, source{topic: "orders", label: "main"}, window.Config{Records: 100}).claim
	at := time.Now()
	ages := func(after time.Duration, end int64, due int) time.Duration {
		c.seen.due = due
		return c.reading(at.Add(after), end, -1).OldestDue
	}
	for _, step := range []struct {
		name  string
		after time.Duration
		end   int64
		due   int // records that are read and due
		want  time.Duration
	}{
		{"nothing is due", 0, 0, 0, 0},
		{"the first measurement", time.Minute, 10, 0, 0},
		{"more have come", 3 * time.Minute, 20, 0, 2 * time.Minute},
		{"one is read", 4 * time.Minute, 20, 1, 0}, // whose own age counts
		{"and done", 5 * time.Minute, 20, 0, 0},
		{"none came since", 6 * time.Minute, 20, 0, time.Minute},
	} {
		if got := ages(step.after, step.end, step.due); got != step.want {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
	}
}

func TestRetiredTierDoesNotWaitByTheSchedule(t *testing.T) {
	retired := minute
	retired.retired = true
	if !minute.waits() || retired.waits() {
		t.Errorf("waits %v, retired %v; want only the configured tier to: the records of the other are due by their headers alone", minute.waits(), retired.waits())
	}
}

func TestJobsComeBackInAnyOrder(t *testing.T) {
	c := newStoppedRig(t, minute, window.Config{Records: 100}).claim
	first, second, third := &job{claim: c}, &job{claim: c}, &job{claim: c}
	for _, j := range []*job{first, second, third} {
		c.note(j)
	}
	c.giveBack(first, time.Now())
	if len(c.outside) != 2 || first.place != 0 || c.outside[second.place-1] != second || c.outside[third.place-1] != third {
		t.Errorf("outside: %v, want the other two where they say that they are", c.outside)
	}
	c.giveBack(third, time.Now())
	c.giveBack(second, time.Now())
	if len(c.outside) != 0 {
		t.Errorf("outside: %v, want none", c.outside)
	}
}
