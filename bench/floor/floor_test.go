package main

import (
	"slices"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
)

func TestWhatIsCarriedComesBack(t *testing.T) {
	want := exchange{
		eventID: "main/3/7@1000", attempt: 2, topic: "main", partition: 3, offset: 7,
		timestamp: time.UnixMilli(1000), firstFailure: 1001, key: []byte("k"), value: []byte("v"),
	}
	m := &sarama.ConsumerMessage{Topic: "main.2", Key: want.key, Value: want.value}
	for _, h := range carry(want) {
		m.Headers = append(m.Headers, &h)
	}
	if diff := cmp.Diff(want, carried(m), cmp.AllowUnexported(exchange{})); diff != "" {
		t.Errorf("exchange (-carried +read):\n%s", diff)
	}
}

func TestFirstHopHasNoAttemptBehindIt(t *testing.T) {
	m := &sarama.ConsumerMessage{Topic: "main", Partition: 3, Offset: 7, Timestamp: time.UnixMilli(1000)}
	if x := carried(m); x.attempt != 0 || x.eventID != "main/3/7@1000" || x.topic != "main" {
		t.Errorf("exchange %+v, want no attempt of main/3/7@1000", x)
	}
}

func TestScheduleIsInOrderAndWithinTheJitter(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	all := schedule(now, options{records: 1000, rate: 1000, delay: 5 * time.Second})
	soonest, latest := now.Add(4*time.Second).UnixMilli(), now.Add(7*time.Second).UnixMilli()
	if !slices.IsSorted(all) || all[0] < soonest || all[999] > latest {
		t.Errorf("due from %d to %d, want in order, between %d and %d", all[0], all[999], soonest, latest)
	}
	if spread := all[999] - all[0]; spread < 2000 {
		t.Errorf("all are due within %d ms, want them spread over 3 s", spread)
	}
}
