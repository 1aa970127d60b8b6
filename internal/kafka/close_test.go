package kafka

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// counted sends n records to a topic and counts their reports.
func counted(t *testing.T, to *Target, n int) (check func()) {
	t.Helper()
	reports := make([]atomic.Int32, n)
	var failed atomic.Int32
	for i := range n {
		m := text(strconv.Itoa(i))
		if i%50 == 49 {
			m.Value = random(3000) // takes the large one's lane
		}
		to.Send(m, func(_ int64, err error) {
			reports[i].Add(1)
			if err != nil {
				failed.Add(1)
			}
		})
	}
	return func() {
		t.Helper()
		for i := range reports {
			if got := reports[i].Load(); got != 1 {
				t.Errorf("record %d of %s is reported %d times", i, to.topic, got)
			}
		}
		if failed.Load() != int32(n) {
			t.Errorf("%d of %d records of %s failed, although none was acknowledged", failed.Load(), n, to.topic)
		}
	}
}

func TestCloseReportsEveryRecordOnce(t *testing.T) {
	tests := []struct {
		name  string
		state func(t *testing.T) (Config, func()) // and what makes the brokers fail
	}{
		{"brokers hang", func(t *testing.T) (Config, func()) {
			m, _, config := startMute(t)
			return config, func() { m.muted.Store(true) }
		}},
		{"brokers are gone", func(t *testing.T) (Config, func()) {
			fake, config := startFake(t)
			return config, fake.Close
		}},
		{"brokers refuse", func(t *testing.T) (Config, func()) {
			fake, config := startFake(t)
			return config, func() {
				fake.ControlKey(produceKey, func(kmsg.Request) (kmsg.Response, error, bool) {
					fake.KeepControl()
					return nil, errors.New("refused"), true
				})
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			config, fail := tt.state(t)
			c := connect(t, config)
			p := NewProducers(config)
			var targets []*Target
			for i := range 3 {
				topic := fmt.Sprint(i)
				createTopic(t, c, topic, 2, nil)
				targets = append(targets, target(t, p, topic, 2000))
				write(t, targets[i], text("known"))
			}
			fail()
			var checks []func()
			for _, to := range targets {
				checks = append(checks, counted(t, to, 400))
			}
			closed := make(chan struct{})
			go func() { defer close(closed); p.Close() }()
			receive(t, "Close", closed)
			for _, check := range checks {
				check()
			}
			if a := receive(t, "an answer", send(targets[0], text("late"))); !errors.Is(a.err, errClosed) {
				t.Errorf("sent after Close: %v, want %v", a.err, errClosed)
			}
			if _, err := p.Target("late", 2000); !errors.Is(err, errClosed) {
				t.Errorf("target after Close: %v, want %v", err, errClosed)
			}
			p.Close()
		})
	}
}

// Senders do not stop because the producers close.
func TestCloseWhileRecordsAreSent(t *testing.T) {
	config := startBroker(t)
	createTopic(t, connect(t, config), "a", 1, nil)
	p := NewProducers(config)
	to := target(t, p, "a", 1<<20)
	const senders, records = 4, 500
	var sent sync.WaitGroup
	var reports atomic.Int32
	acknowledged := make(chan struct{}, 1)
	for range senders {
		sent.Go(func() {
			for range records {
				to.Send(text("x"), func(_ int64, err error) {
					reports.Add(1)
					select {
					case acknowledged <- struct{}{}:
					default:
					}
				})
			}
		})
	}
	receive(t, "the first answer", acknowledged)
	p.Close()
	sent.Wait()
	if got := reports.Load(); got != senders*records {
		t.Errorf("%d of %d records are reported", got, senders*records)
	}
}

func TestCloseEndsAConnectThatHangs(t *testing.T) {
	l := silence(t)
	p := NewProducers(configFor([]string{l.Addr().String()}))
	result := make(chan error, 1)
	go func() {
		_, err := p.Target("a", 1<<20)
		result <- err
	}()
	if _, err := l.Accept(); err != nil { // it waits for an answer now
		t.Fatal(err)
	}
	p.Close()
	if err := receive(t, "Target", result); err == nil {
		t.Error("a broker that never answered is connected")
	}
}
