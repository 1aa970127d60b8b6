package tier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/window"
)

// fakeGroup is as much of a consumer group as a claim uses.
type fakeGroup struct {
	sarama.ConsumerGroup
	mu     sync.Mutex
	paused bool
}

func (g *fakeGroup) Pause(map[string][]int32)  { g.set(true) }
func (g *fakeGroup) Resume(map[string][]int32) { g.set(false) }

func (g *fakeGroup) set(paused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused = paused
}

func (g *fakeGroup) isPaused() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.paused
}

// rig is a claim of tier 1 that runs in fake time, with the test in the place of
// Kafka and of the workers.
type rig struct {
	*claim
	relay    *Relay
	group    *fakeGroup
	messages chan *sarama.ConsumerMessage
	revoke   context.CancelFunc
	ended    chan struct{}
	next     int64
}

const (
	rigTopic   = "orders.retry.1"
	rigSession = 40 * time.Second // half of it is the lease
	rigTimeout = 10 * time.Second // of the endpoint
)

func newRig(t *testing.T, src source, win window.Config) *rig {
	t.Helper()
	r := newStoppedRig(t, src, win)
	r.start()
	return r
}

// newStoppedRig is newRig before the claim runs.
func newStoppedRig(t *testing.T, src source, win window.Config) *rig {
	t.Helper()
	r := &Relay{
		deps: Deps{
			Kafka: kafka.Config{SessionTimeout: rigSession}, Window: win,
			Budget: window.NewBudget(1 << 20), Log: zap.NewNop(),
		},
		config: Config{Topic: "orders", Group: "g", DLT: DLT{Topic: "orders.DLT"}},
		schedule: policy.Schedule{
			Steps:  []policy.Step{{Delay: time.Second}, {Delay: time.Second}, {Delay: time.Second}},
			Budget: time.Hour, Lifetime: time.Hour, LimitedAttempts: 3,
		},
		metrics: metrics.New(prometheus.NewRegistry(), "test").Relay("orders"),
		log:     zap.NewNop(),
		jobs:    make(chan *job),
		uniform: rand.New(rand.NewPCG(1, 2)).Float64,
	}
	r.config.Endpoint.Timeout = rigTimeout
	group := &fakeGroup{}
	consumer := r.newConsumer(src)
	consumer.group, consumer.abort = group, context.Background()
	s := &session{consumer: consumer, renew: make(chan struct{}, 1), sent: time.Now(), acked: map[int32]int64{}}
	c := newClaim(s, 0, 0)
	s.claims = map[int32]*claim{0: c}
	return &rig{claim: c, relay: r, group: group, messages: make(chan *sarama.ConsumerMessage), ended: make(chan struct{})}
}

func (r *rig) start() {
	ctx, revoke := context.WithCancel(context.Background())
	r.revoke = revoke
	go func() {
		defer close(r.ended)
		r.claim.run(ctx, r.messages)
	}()
}

func tierRig(t *testing.T) *rig {
	return newRig(t, source{topic: rigTopic, label: "1", step: 1, delay: time.Second}, window.Config{Records: 100, Horizon: 5 * time.Second})
}

// stop revokes the claim and waits until it has let go.
func (r *rig) stop() {
	r.revoke()
	<-r.ended
}

// read lets the claim read one record that is due at a time.
func (r *rig) read(due time.Time, headers ...sarama.RecordHeader) int64 {
	offset := r.next
	r.next++
	r.messages <- message(offset, due, headers...)
	synctest.Wait()
	return offset
}

func message(offset int64, due time.Time, headers ...sarama.RecordHeader) *sarama.ConsumerMessage {
	notBefore := sarama.RecordHeader{Key: []byte("x-not-before"), Value: []byte(strconv.FormatInt(due.UnixMilli(), 10))}
	return &sarama.ConsumerMessage{
		Topic: rigTopic, Offset: offset, Timestamp: time.Now(),
		Headers: append([]*sarama.RecordHeader{&notBefore}, pointers(headers)...),
	}
}

func pointers(headers []sarama.RecordHeader) (list []*sarama.RecordHeader) {
	for i := range headers {
		list = append(list, &headers[i])
	}
	return list
}

// worker takes the next record, in place of a worker that is free now.
func (r *rig) worker() *job {
	select {
	case j := <-r.relay.jobs:
		return j
	case <-time.After(10 * time.Minute):
		panic("no record was offered within ten minutes")
	}
}

// offered takes a record if one is offered now.
func (r *rig) offered() *job {
	synctest.Wait()
	select {
	case j := <-r.relay.jobs:
		return j
	default:
		return nil
	}
}

func TestHoldNeverDeliversEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		for _, wait := range []time.Duration{0, time.Millisecond, 999 * time.Millisecond, 3 * time.Second, 90 * time.Second} {
			due := time.Now().Add(wait)
			r.read(due)
			if wait > 0 && r.offered() != nil {
				t.Fatalf("a record was offered %v before it was due", wait)
			}
			r.session.lease(due) // somebody renews it; see TestLeaseIsRenewedBeforeARecordIsDue
			j := r.worker()
			if at := time.Now(); at.UnixMilli() != due.UnixMilli() {
				t.Errorf("a record due at %v was offered at %v", due, at)
			}
			r.complete(j)
		}
	})
}

func TestWaitingRecordDoesNotBlockADueOneBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.read(time.Now().Add(time.Hour))
		r.read(time.Now().Add(30 * time.Second))
		due := r.read(time.Now())
		if j := r.offered(); j == nil || j.record.Offset != due {
			t.Fatalf("offered %v, want offset %d", j, due)
		} else {
			r.complete(j)
		}
	})
}

func TestDueRecordsLeaveInDueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		now := time.Now()
		for _, wait := range []int{3, 1, 2, 1} {
			r.read(now.Add(time.Duration(wait) * time.Second))
		}
		time.Sleep(5 * time.Second)
		var got []int64
		for range 4 {
			j := r.worker()
			got = append(got, j.record.Offset)
			r.complete(j)
		}
		if fmt.Sprint(got) != "[1 3 2 0]" {
			t.Errorf("offsets left in the order %v, want [1 3 2 0]", got)
		}
	})
}

func TestWatermarkStaysBelowWhatIsNotComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.next = 10 // offsets 0 to 9 never come: they count as complete
		for range 3 {
			r.read(time.Now())
		}
		first, second, third := r.worker(), r.worker(), r.worker()
		for i, step := range []struct {
			done *job
			low  int64
		}{{third, 10}, {first, 11}, {second, 13}} {
			r.complete(step.done)
			if low := r.low(); low != step.low {
				t.Errorf("step %d: watermark %d, want %d", i, low, step.low)
			}
		}
	})
}

func TestRevokeDropsWhatIsHeldAndWaitsForWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		r.read(time.Now())
		r.read(time.Now().Add(time.Minute))
		inFlight := r.worker()
		r.revoke()
		synctest.Wait()
		select {
		case <-r.ended:
			t.Fatal("the claim let go while a record was in flight")
		default:
		}
		if !r.session.leased(time.Now()) {
			t.Error("what left the window before the revoke may not be attempted: what left after it would be repeated")
		}
		r.complete(inFlight)
		<-r.ended
		if low := r.low(); low != 1 {
			t.Errorf("watermark %d, want 1: the record in flight is complete, the held one is not", low)
		}
		if total := r.relay.deps.Budget.Total(); total != 0 || r.window.Len() != 0 {
			t.Errorf("%d bytes are still charged and %d records held after the claim let go", total, r.window.Len())
		}
	})
}

func TestRevokeGivesUpOnWhatNeverComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		r.read(time.Now())
		stuck := r.worker()
		start := time.Now()
		r.stop()
		if waited := time.Since(start); waited != rigTimeout+kafka.ForwardTimeout {
			t.Errorf("let go after %v, want %v", waited, rigTimeout+kafka.ForwardTimeout)
		}
		r.giveBack(stuck, time.Now()) // late: it is dropped
		if low := r.low(); low != 0 || len(r.returned) > 0 {
			t.Errorf("watermark %d and %d records held, want 0 and none: the record is not complete, and not ours", low, len(r.returned))
		}
	})
}

func TestGivenBackRecordGoesBehindWhatIsDueAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.read(time.Now())
		r.read(time.Now().Add(time.Millisecond))
		time.Sleep(time.Second)
		first := r.worker()
		r.giveBack(first, time.Now())
		synctest.Wait()
		second, again := r.worker(), r.worker()
		if second.record.Offset != 1 || again != first {
			t.Errorf("offsets %d and %d, want 1 and then 0 again", second.record.Offset, again.record.Offset)
		}
		r.complete(second)
		r.complete(again)
	})
}

func TestNothingLeavesWithoutALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		time.Sleep(rigSession / 2)
		r.read(time.Now())
		if j := r.offered(); j != nil {
			t.Fatal("a record was offered although the last commit is half a session timeout old")
		}
		select {
		case <-r.session.renew:
		default:
			t.Fatal("no renewal was asked for")
		}
		r.session.lease(time.Now())
		r.nudge()
		j := r.offered()
		if j == nil {
			t.Fatal("the record was not offered after the renewal")
		}
		r.complete(j)
	})
}

func TestLeaseIsRenewedBeforeARecordIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		due := time.Now().Add(time.Minute)
		r.read(due)
		<-r.session.renew
		if ahead := time.Until(due); ahead <= 0 || ahead > time.Second {
			t.Errorf("renewal was asked for %v ahead, want up to 1 s", ahead)
		}
	})
}

func TestLeaseEndsWithTheWallClockToo(t *testing.T) {
	s := &session{consumer: &consumer{relay: &Relay{deps: Deps{Kafka: kafka.Config{SessionTimeout: rigSession}}}}}
	if s.leased(time.Now()) {
		t.Error("leased before the first commit")
	}
	now := time.Now()
	s.lease(now.Round(0).Add(-rigSession / 2)) // without a monotonic reading, as after a sleep of the machine
	if s.leased(now) {
		t.Error("leased although the wall clock says that the commit is too old")
	}
	s.lease(now)
	if !s.leased(now.Add(rigSession/2 - time.Millisecond)) {
		t.Error("not leased although the commit is young enough")
	}
}

func TestReadingPausesWhenTheWindowIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 10, Horizon: time.Hour})
		defer r.stop()
		due := time.Now().Add(time.Second)
		for range 9 {
			r.read(due)
		}
		if r.group.isPaused() {
			t.Fatal("paused below the limit")
		}
		r.read(due)
		if !r.group.isPaused() {
			t.Fatal("not paused at the limit")
		}
		r.read(due) // what was fetched already is held all the same
		var taken []*job
		for range 11 {
			taken = append(taken, r.worker())
		}
		for i, j := range taken { // each completion is looked at at once, not at the next tick
			r.complete(j)
			synctest.Wait()
			if left := 10 - i; r.group.isPaused() != (left > 5) {
				t.Errorf("with %d of 10 records left, paused is %v", left, r.group.isPaused())
			}
		}
	})
}

func TestReadingPausesWhenTheProcessHoldsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStoppedRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 1000, Horizon: time.Hour})
		r.relay.deps.Budget = window.NewBudget(2 * (jobOverhead + 10))
		r.claim.share = r.relay.deps.Budget.Join()
		r.start()
		defer r.stop()
		r.read(time.Now())
		if r.group.isPaused() {
			t.Fatal("paused with half of what the process may hold")
		}
		r.read(time.Now())
		if !r.group.isPaused() {
			t.Fatal("reading goes on although the process holds all that it may")
		}
		first, second := r.worker(), r.worker()
		r.complete(first)
		r.complete(second)
		synctest.Wait()
		if r.group.isPaused() {
			t.Error("still paused with nothing held")
		}
	})
}

func TestHandOverThatFailsKeepsTheRecordsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		for range 3 {
			r.read(time.Now())
			time.Sleep(time.Millisecond)
		}
		first := r.worker()
		due := first.due
		r.giveBack(first, time.UnixMilli(min(first.due, time.Now().UnixMilli())))
		synctest.Wait()
		if again := r.worker(); again != first || again.due != due {
			t.Errorf("offset %d due at %d came next, want 0 at %d: the watermark stands there", again.record.Offset, again.due, due)
		} else {
			r.complete(again)
		}
	})
}

func TestClockThatWasSetBackStallsNothingThatIsOutside(t *testing.T) {
	now := time.Now()
	c := &claim{clock: now.UnixMilli(), newest: now.Round(0), wake: make(chan struct{}, 1)}
	back := now.Add(-time.Hour)
	c.noticeClockStep(back)
	if c.newest.After(back) {
		t.Error("the newest record lies an hour ahead, nothing is read until then")
	}
	outside := &job{due: now.UnixMilli()}
	c.outside = 1
	c.giveBack(outside, back)
	if outside.due != back.UnixMilli() {
		t.Errorf("due at %d, want %d: nothing but its turn is waited for", outside.due, back.UnixMilli())
	}
}

func TestTicksVary(t *testing.T) {
	c := &claim{}
	seen := map[time.Duration]bool{}
	for range 100 {
		wait := c.untilWake(time.Now())
		if wait < tickInterval/2 || wait > tickInterval {
			t.Fatalf("a tick of %v, want %v to %v", wait, tickInterval/2, tickInterval)
		}
		seen[wait] = true
	}
	if len(seen) < 50 {
		t.Errorf("%d different ticks of 100: claims would keep step with one another", len(seen))
	}
}

func TestPauseOfAnEarlierSessionIsLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStoppedRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 10})
		r.group.set(true)
		r.start()
		defer r.stop()
		synctest.Wait()
		if r.group.isPaused() {
			t.Error("the partition came back and is still paused")
		}
	})
}

func TestReadingStopsAtTheHorizon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := source{topic: rigTopic, label: "1", step: 1, least: 20 * time.Second, delay: 20 * time.Second}
		r := newRig(t, src, window.Config{Records: 100, Horizon: 5 * time.Second})
		defer r.stop()
		r.read(time.Now().Add(20 * time.Second))
		if !r.group.isPaused() {
			t.Fatal("reading goes on although nothing behind is due within the horizon")
		}
		time.Sleep(15*time.Second - time.Millisecond)
		synctest.Wait()
		if !r.group.isPaused() {
			t.Fatal("reading went on too early")
		}
		time.Sleep(tickInterval + time.Millisecond)
		synctest.Wait()
		if r.group.isPaused() {
			t.Error("reading does not go on although the next record may be due within the horizon")
		}
	})
}

func TestUnacknowledgedForwardsStopDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		var written []*job
		for range maxMoving {
			r.read(time.Now())
			j := r.worker()
			r.judged(j, &move{})
			written = append(written, j)
		}
		r.read(time.Now())
		if j := r.offered(); j != nil {
			t.Fatal("a record was offered although the next topic acknowledges nothing")
		}
		r.complete(written[0])
		j := r.offered()
		if j == nil {
			t.Fatal("no record was offered after an acknowledgement")
		}
		r.complete(j)
	})
}

func TestJudgedRecordIsWrittenWhateverTheEndpointDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		_, dlt := routed(r, nil, nil)
		r.read(time.Now()) // is due first, and no worker takes it
		r.read(time.Now())
		waiting, j := r.worker(), r.worker()
		r.giveBack(waiting, time.Now())
		r.judged(j, &move{decision: policy.Decision{Action: policy.ActionDeadLetter}})
		r.giveBack(j, time.Now().Add(resendPause)) // its write failed
		time.Sleep(resendPause)
		synctest.Wait()
		if len(dlt.written()) != 1 {
			t.Errorf("%d writes, want 1: a record that waits for the endpoint is in front", len(dlt.written()))
		}
		r.complete(r.worker())
	})
}

func TestWritesThatFailCountAsUnacknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 1000, Horizon: time.Hour})
		defer r.stop()
		gone := errors.New("topic is gone")
		var errs []error
		for range 10 * maxMoving {
			errs = append(errs, gone)
		}
		routed(r, nil, errs)
		for range 2 * maxMoving {
			r.read(time.Now())
		}
		attempted := 0
		for range 5 { // seconds
			for j := r.offered(); j != nil; j = r.offered() {
				attempted++
				r.judged(j, &move{decision: policy.Decision{Action: policy.ActionDeadLetter}})
				r.relay.send(j)
			}
			time.Sleep(resendPause)
		}
		if attempted != maxMoving {
			t.Errorf("%d records were attempted although none can be written on, want %d", attempted, maxMoving)
		}
	})
}

func TestRevokeWritesOnceMoreWhatIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		_, dlt := routed(r, nil, nil)
		for range 2 {
			r.read(time.Now())
			j := r.worker()
			r.judged(j, &move{decision: policy.Decision{Action: policy.ActionDeadLetter}})
			r.giveBack(j, time.Now().Add(resendPause)) // its write failed
		}
		r.stop()
		if low := r.low(); low != 2 || len(dlt.written()) != 2 {
			t.Errorf("watermark %d after %d writes, want 2 after 2: the records' attempts would be repeated", low, len(dlt.written()))
		}
	})
}

func TestClockThatWasSetBackStallsNothing(t *testing.T) {
	now := time.Now()
	c := &claim{clock: now.UnixMilli()}
	arrival, waiting := &job{due: now.UnixMilli()}, &job{due: now.UnixMilli() + 5000}
	waiting.state.NotBefore = now.Add(5 * time.Second).Truncate(time.Millisecond)
	judged := &job{due: now.UnixMilli() + 1000, move: &move{}, state: waiting.state}
	for _, j := range []*job{arrival, waiting, judged} {
		c.hold(j)
	}
	back := now.Add(-time.Hour)
	c.noticeClockStep(back)
	if arrival.due != back.UnixMilli() || judged.due != back.UnixMilli() {
		t.Errorf("due at %d and %d, want %d: both wait for nothing but their turn", arrival.due, judged.due, back.UnixMilli())
	}
	if waiting.due != waiting.state.NotBefore.UnixMilli() {
		t.Errorf("due at %d, want %d: x-not-before holds by this clock too", waiting.due, waiting.state.NotBefore.UnixMilli())
	}
	if c.window.Len() != 2 || c.unwritten.Len() != 1 {
		t.Errorf("%d and %d held, want 2 and 1", c.window.Len(), c.unwritten.Len())
	}
}

func TestTimestampOfAnotherClockDoesNotStopReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := source{topic: rigTopic, label: "1", step: 1, least: time.Second, delay: time.Second}
		r := newRig(t, src, window.Config{Records: 100, Horizon: 5 * time.Second})
		defer r.stop()
		m := message(0, time.Now().Add(time.Second))
		m.Timestamp = time.Now().Add(24 * time.Hour)
		r.messages <- m
		synctest.Wait()
		if r.group.isPaused() {
			t.Error("a timestamp in the future stopped the reading")
		}
	})
}

func TestRecordOfAnotherGroupIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.read(time.Now(), sarama.RecordHeader{Key: []byte("x-consumer"), Value: []byte("orders/other")})
		if r.offered() != nil {
			t.Error("a record of another group was offered")
		}
		if low := r.low(); low != 1 {
			t.Errorf("watermark %d, want 1", low)
		}
		r.read(time.Now(), sarama.RecordHeader{Key: []byte("x-consumer"), Value: []byte("orders/g")})
		if j := r.offered(); j == nil {
			t.Error("a record of the own group was not offered")
		} else {
			r.complete(j)
		}
	})
}

func TestLogThatEndsBelowTheCommitIsReadFromItsFirstRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.claim.mu.Lock()
		r.offsets = window.NewOffsets(500)
		r.claim.mu.Unlock()
		r.next = 3
		r.read(time.Now())
		if low := r.low(); low != 3 {
			t.Fatalf("watermark %d, want 3", low)
		}
		r.complete(r.worker())
		if low := r.low(); low != 4 {
			t.Errorf("watermark %d, want 4", low)
		}
	})
}

func TestWriteThatFailedIsWrittenAgainWithoutAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.read(time.Now())
		j := r.worker()
		routed(r, nil, nil)
		r.judged(j, &move{to: &target{topic: "orders.DLT", dlt: true, partitions: 1}, decision: policy.Decision{Action: policy.ActionDeadLetter}})
		r.relay.sent(j, 0, errors.New("broker is gone"))
		synctest.Wait()
		if low := r.low(); low != 0 {
			t.Errorf("watermark %d, want 0: the record was not written", low)
		}
		if r.offered() != nil {
			t.Error("a record whose attempt was judged is offered to a worker")
		}
		if due := j.due; due != time.Now().Add(resendPause).UnixMilli() {
			t.Errorf("written again at %d, want after %v", due, resendPause)
		}
		r.revoke()
	})
}
