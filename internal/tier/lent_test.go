package tier

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/window"
	"github.com/retryd/retryd/test/harness"
)

func mainRig(t *testing.T) *rig {
	return newRig(t, source{topic: "orders", label: "main"}, window.Config{Records: 100, Horizon: 5 * time.Second})
}

// readBytes lets the claim read a record that is due, and returns its bytes as they lie
// in the fetch response.
func (r *rig) readBytes(value string) (fetched [][]byte) {
	m := message(r.next, time.Now(), sarama.RecordHeader{Key: []byte("app"), Value: []byte(value)},
		sarama.RecordHeader{Key: []byte("x-event-id"), Value: []byte("id")})
	m.Key, m.Value = []byte(value), []byte(value)
	r.next++
	r.messages <- m
	return [][]byte{m.Key, m.Value, m.Headers[1].Key, m.Headers[1].Value}
}

func scribble(fetched [][]byte) {
	for _, b := range fetched {
		clear(b)
	}
}

// bytesOf returns what readBytes made a record of: its key, its value, its header.
func bytesOf(r record.Record) []string {
	app, _ := record.Find(r.Headers, "app")
	return []string{string(r.Key), string(r.Value), string(app)}
}

func same(text string) []string { return []string{text, text, text} }

// TestHeldTierRecordPinsNoFetchResponse: what waits for long has bytes of its own, and
// none that are in its state anyway.
func TestHeldTierRecordPinsNoFetchResponse(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	fetched := r.readBytes("held")
	j := r.worker()
	scribble(fetched)
	if diff := cmp.Diff(same("held"), bytesOf(j.record)); diff != "" {
		t.Error(diff)
	}
	if n := len(j.record.Headers); n != 2 {
		t.Errorf("%d headers are held, want the one that is not retryd's, and the event id", n)
	}
	r.complete(j)
}

// TestRecordThatFailsGoesOnAsItWasRead: the first record fails, and until its write is
// looked at, its fetch response and its worker's memory hold other bytes.
func TestRecordThatFailsGoesOnAsItWasRead(t *testing.T) {
	r := mainRig(t)
	defer r.stop()
	tier1, _ := routed(r, nil, nil)
	first := make(chan [][]byte, 1)
	answered := make(chan struct{}, 2)
	withEndpoint(t, r, func(q harness.Request) harness.Answer {
		defer func() { answered <- struct{}{} }()
		if q.Offset > 0 {
			return harness.Answer{Status: http.StatusOK}
		}
		scribble(<-first)
		return harness.Answer{Status: http.StatusServiceUnavailable}
	})
	ctx, stop := context.WithCancel(t.Context())
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		r.relay.work(ctx, new(pulse))
	}()
	first <- r.readBytes("first")
	<-answered
	r.readBytes("other")
	<-answered
	r.relay.turns.end()
	<-worked
	stop()
	if n := len(tier1.written()); n != 1 {
		t.Fatalf("%d writes, want one", n)
	}
	m := tier1.written()[0]
	key, _ := m.Key.Encode()
	value, _ := m.Value.Encode()
	if diff := cmp.Diff(same("first"), []string{string(key), string(value), header(m, "app")}); diff != "" {
		t.Error(diff)
	}
}

// TestRecordThatIsGivenBackIsItsOwn: it may wait for long, and its worker goes on.
func TestRecordThatIsGivenBackIsItsOwn(t *testing.T) {
	r := mainRig(t)
	defer r.stop()
	var room record.Room
	fetched := r.readBytes("first")
	j := r.worker()
	room.Take(&j.record)
	r.giveBack(j, time.Now())
	other := record.Record{Key: []byte("other"), Value: []byte("other")}
	room.Take(&other)
	scribble(fetched)
	if diff := cmp.Diff(same("first"), bytesOf(j.record)); diff != "" {
		t.Error(diff)
	}
	r.complete(r.worker())
}

// TestMainRecordIsLentOnlyWhileTheyFlow: few that wait must not each pin a response, which
// may be full of other partitions' records.
func TestMainRecordIsLentOnlyWhileTheyFlow(t *testing.T) {
	r := newStoppedRig(t, source{topic: "orders", label: "main"}, window.Config{Records: 100, Horizon: 5 * time.Second})
	lent := func(offset int64) (is bool) {
		r.take(message(offset, time.Now()), time.Now())
		for _, j := range r.window.All() {
			if j.record.Offset == offset {
				is = j.lent
			}
		}
		return is
	}
	if !lent(0) || !lent(1) {
		t.Error("one that follows the record before is copied")
	}
	if lent(7) {
		t.Error("one that stands alone is lent")
	}
	r.moving = maxMoving
	if lent(8) {
		t.Error("one that may not be let out is lent")
	}
	r.moving = 0
	if !lent(9) {
		t.Error("copied although records flow again")
	}
}

// TestTextsOfTheStateAreCounted: they are part of what a held record takes.
func TestTextsOfTheStateAreCounted(t *testing.T) {
	size := func(headers ...sarama.RecordHeader) int64 {
		r := newStoppedRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 100, Horizon: 5 * time.Second})
		r.take(message(0, time.Now(), headers...), time.Now())
		return r.share.Held()
	}
	text := sarama.RecordHeader{Key: []byte("x-error"), Value: bytes.Repeat([]byte("e"), 200)}
	if without, with := size(), size(text); with != without+200 {
		t.Errorf("%d bytes with a text of 200, %d without", with, without)
	}
}
