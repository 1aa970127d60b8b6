package control

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeTopic is the topic, in the place of Kafka.
type fakeTopic struct {
	mu      sync.Mutex
	id      byte
	entries []kafka.Entry
	changed chan struct{} // closed with the next change
	failing error         // what reading and writing give
	tries   int           // writes that were tried
	slow    chan error    // what looks wait for, and give; nil: they do not wait
}

func newTopic() *fakeTopic { return &fakeTopic{id: 1, changed: make(chan struct{})} }

func (f *fakeTopic) change(what func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeTopic) fail(err error) { f.change(func() { f.failing = err }) }

// anew makes the topic anew, empty.
func (f *fakeTopic) anew() {
	f.change(func() { f.id, f.entries = f.id+1, nil })
}

func (f *fakeTopic) write(key string, value []byte) {
	f.change(func() {
		f.entries = append(f.entries, kafka.Entry{Offset: int64(len(f.entries)), Key: []byte(key), Value: value})
	})
}

func (f *fakeTopic) put(_ context.Context, key, value []byte) (int64, error) {
	f.mu.Lock()
	err := f.failing
	f.tries++
	offset := int64(len(f.entries))
	f.mu.Unlock()
	if err == nil {
		f.write(string(key), value)
	}
	return offset, err
}

func (f *fakeTopic) plan(*kafka.Cluster) (kafka.Topic, error) {
	f.mu.Lock()
	slow := f.slow
	f.mu.Unlock()
	if slow != nil {
		if err := <-slow; err != nil {
			return kafka.Topic{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if planned := new(kafka.PlanError); errors.As(f.failing, &planned) {
		return kafka.Topic{}, f.failing
	}
	return kafka.Topic{Name: "retryd.control", ID: [16]byte{f.id}, Partitions: 1}, nil
}

func (f *fakeTopic) open(ctx context.Context) (reader, error) {
	return &fakeReader{topic: f, ctx: ctx}, nil
}

// fakeReader reads two entries at a time.
type fakeReader struct {
	topic *fakeTopic
	ctx   context.Context
	next  int
	begun bool
}

func (r *fakeReader) Close() {}

func (r *fakeReader) Read() ([]kafka.Entry, bool, error) {
	entries, end, changed, err := r.at()
	if err != nil || len(entries) > 0 || !r.begun {
		r.begun = true
		return entries, end, err
	}
	select {
	case <-changed:
	case <-time.After(2 * time.Second):
	case <-r.ctx.Done():
		return nil, false, r.ctx.Err()
	}
	return nil, true, nil
}

func (r *fakeReader) at() (entries []kafka.Entry, end bool, changed chan struct{}, err error) {
	f := r.topic
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing == nil && r.next < len(f.entries) {
		entries = f.entries[r.next:min(r.next+2, len(f.entries))]
		r.next += len(entries)
	}
	return entries, r.next >= len(f.entries), f.changed, f.failing
}

// rig is a Control of two relays and what it told.
type rig struct {
	*Control
	topic *fakeTopic
	logs  *observer.ObservedLogs
	rest  func() // ends following, as SIGTERM does
	stop  func() // ends writing, too, when nothing is under way any more

	mu      sync.Mutex
	told    []string
	ignored int
	odd     bool // the last look found something

	away atomic.Bool // no broker answers, as the process tells
}

// reading is a test of an instance that has read its topic.
func reading(t *testing.T, test func(t *testing.T, topic *fakeTopic, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		topic := newTopic()
		r := newRig(topic)
		defer r.stop()
		r.want(t, "read")
		test(t, topic, r)
	})
}

// newRig starts a Control on a topic; it ends with stop.
func newRig(topic *fakeTopic) *rig {
	core, logs := observer.New(zapcore.InfoLevel)
	r := &rig{topic: topic, logs: logs}
	note := func(format string, args ...any) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.told = append(r.told, fmt.Sprintf(format, args...))
	}
	r.Control = New(Deps{
		Topics: kafka.DefaultTopics(), Log: zap.New(core), Limiter: &logging.Limiter{},
		Relays: map[string]string{"g1": "loans", "g2": "orders"},
		Changed: func(group string, h *status.Halt) {
			if h == nil {
				note("%s delivers", group)
				return
			}
			note("%s %s by %s: %s", group, h.State, h.By, h.Reason)
		},
		Read:   func() { note("read") },
		Unread: func(err error) { note("unread: %v", err) },
		Looked: func(err error) {
			switch {
			case err != nil:
				note("looked: %v", err)
			case r.odd:
				note("in order")
			}
			r.odd = err != nil
		},
		Ignored: func() { r.ignored++ },
		Away:    r.away.Load,
	})
	r.plan, r.open, r.put = topic.plan, topic.open, topic.put
	var following, writing sync.WaitGroup
	ctx, rest := context.WithCancel(context.Background())
	drained, end := context.WithCancel(context.Background())
	following.Go(func() { r.Follow(ctx, nil) })
	writing.Go(func() { r.Write(drained, context.Background()) })
	r.rest = func() {
		rest()
		following.Wait()
	}
	r.stop = func() {
		r.rest()
		end()
		writing.Wait()
	}
	return r
}

// said takes what was told since the last time.
func (r *rig) said() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := r.told
	r.told = nil
	return told
}
