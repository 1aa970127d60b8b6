package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/status"
)

// observed is a monitor in simulated time.
type observed struct {
	*monitor
	logs  *observer.ObservedLogs
	began time.Time
	said  []bool // what the metric was told
}

func newObserved(measure func(time.Time) error) *observed {
	core, logs := observer.New(zapcore.DebugLevel)
	o := &observed{logs: logs, began: time.Now()}
	o.monitor = &monitor{
		measure: measure, reachable: func(ok bool) { o.said = append(o.said, ok) },
		trouble: &trouble{}, log: zap.New(core),
	}
	return o
}

// looks lets n looks pass, of which each finds the error of its place.
func looks(t *testing.T, found ...error) *observed {
	t.Helper()
	n := 0
	o := newObserved(func(time.Time) error {
		n++
		return found[n-1]
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.run(ctx)
	}()
	time.Sleep(time.Duration(len(found))*measureInterval + time.Millisecond)
	stop()
	<-done
	return o
}

func (o *observed) lines() []string {
	var all []string
	for _, l := range o.logs.All() {
		all = append(all, fmt.Sprintf("%v %s %v", l.Level, l.Message, l.ContextMap()))
	}
	return all
}

func TestMonitorTellsOfAClusterThatDoesNotAnswer(t *testing.T) {
	silent := fmt.Errorf("list offsets: %w", io.EOF)
	refused := errors.New("topic orders: not authorized")
	const warn = "warn Kafka does not answer: records wait, nothing is lost map[error:list offsets: the broker closed the connection]"
	tests := []struct {
		name    string
		found   []error
		problem string
		since   time.Duration
		lines   []string
		said    []bool
	}{
		{"it answers", []error{nil, nil}, "", 0, nil, []bool{true, true}},
		{"one look without an answer", []error{nil, silent, nil, silent}, "", 0, nil, []bool{true, true}},
		{
			"silent", []error{nil, silent, silent, silent, silent},
			"Kafka does not answer: list offsets: the broker closed the connection", 10 * time.Second,
			[]string{warn}, []bool{true, false, false, false},
		},
		{
			"back", []error{silent, silent, silent, nil, nil}, "", 0,
			[]string{warn, "info Kafka answers again map[after:15s]"}, []bool{false, false, true, true},
		},
		{
			"back with a no", []error{silent, silent, refused, refused}, "", 0,
			[]string{
				warn, "info Kafka answers again map[after:10s]",
				"warn cannot measure the lag map[error:topic orders: not authorized]",
			},
			[]bool{false, true, true},
		},
		{
			"a no that lasts, and ends", []error{refused, refused, refused, nil, nil, refused, nil}, "", 0,
			[]string{
				"warn cannot measure the lag map[error:topic orders: not authorized]",
				"info the lag is measured again map[after:15s]",
			},
			[]bool{true, true, true, true, true, true, true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := looks(t, tt.found...)
				var want []status.Problem
				if tt.problem != "" {
					want = []status.Problem{{Text: tt.problem, Since: o.began.Add(tt.since), Blocking: true}}
				}
				if diff := cmp.Diff(want, o.trouble.list()); diff != "" {
					t.Errorf("problems (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.lines, o.lines()); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.said, o.said); diff != "" {
					t.Errorf("metric (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestBrokersThatHangAreTroubleAfterOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserved(func(time.Time) error {
			time.Sleep(20 * time.Second) // the timeouts of its requests
			return io.EOF
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			o.run(ctx)
		}()
		time.Sleep(measureInterval + 21*time.Second)
		want := []status.Problem{{Text: "Kafka does not answer: the broker closed the connection", Since: o.began.Add(measureInterval), Blocking: true}}
		if diff := cmp.Diff(want, o.trouble.list()); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
		stop()
		<-done
	})
}

func TestLookThatNeverEndsStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		o := newObserved(func(time.Time) error { <-hangs; return nil })
		if what := o.stalled(time.Now().Add(time.Hour)); what != "" {
			t.Errorf("a monitor that does not run yet: %q", what)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			o.run(ctx)
		}()
		time.Sleep(lookBound - time.Second)
		if what := o.stalled(time.Now()); what != "" {
			t.Errorf("before its bound: %q", what)
		}
		time.Sleep(time.Second)
		if what, want := o.stalled(time.Now()), "the look at Kafka has not ended for 2m0s"; what != want {
			t.Errorf("%q, want %q", what, want)
		}
		stop()
		close(hangs)
		<-done
		if what := o.stalled(time.Now().Add(time.Hour)); what != "" {
			t.Errorf("a monitor that has ended: %q", what)
		}
	})
}

// A look that the end of the cluster's connections breaks off says nothing.
func TestMonitorThatStopsFindsNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looking atomic.Int32
		closed := make(chan struct{})
		o := newObserved(func(time.Time) error {
			looking.Add(1)
			<-closed
			return errors.New("the client is closed")
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			o.run(ctx)
		}()
		time.Sleep(measureInterval)
		synctest.Wait()
		stop()
		close(closed)
		<-done
		if looking.Load() != 1 || len(o.lines()) > 0 || len(o.said) > 0 {
			t.Errorf("%d looks, log %v, metric %v; want one look and nothing said", looking.Load(), o.lines(), o.said)
		}
	})
}

func TestTroubleKeepsItsBeginning(t *testing.T) {
	var all trouble
	began := time.Now()
	all.set(causeLog, status.Problem{Text: "log cannot be written: no space left on device", Since: began})
	all.set(causeKafka, status.Problem{Text: "first", Since: began, Blocking: true})
	all.set(causeKafka, status.Problem{Text: "second", Since: began.Add(time.Hour), Blocking: true})
	want := []status.Problem{
		{Text: "second", Since: began, Blocking: true},
		{Text: "log cannot be written: no space left on device", Since: began},
	}
	if diff := cmp.Diff(want, all.list()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if since, ok := all.clear(causeKafka); !ok || !since.Equal(began) {
		t.Errorf("cleared since %v, %v", since, ok)
	}
	if _, ok := all.clear(causeKafka); ok {
		t.Error("cleared twice")
	}
	if diff := cmp.Diff(want[1:], all.list()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestLogThatCannotBeWrittenIsATroubleUntilItCan(t *testing.T) {
	var all trouble
	lost := 0
	full := errors.New("no space left on device")
	disk := writerFunc(func(p []byte) (int, error) { return len(p) / 2, full })
	w := &logWriter{to: disk, failed: func() { lost++ }, trouble: &all}
	for range 3 {
		if n, err := w.Write([]byte("line\n")); n != 5 || err != nil {
			t.Fatalf("%d, %v; want no error, which zap would write to the same log", n, err)
		}
	}
	problems := all.list()
	if len(problems) != 1 || problems[0].Text != "log cannot be written: no space left on device" || problems[0].Blocking || lost != 3 {
		t.Errorf("problems %+v, %d lines counted", problems, lost)
	}
	w.to = writerFunc(func(p []byte) (int, error) { return len(p), nil })
	if _, err := w.Write([]byte("line\n")); err != nil || len(all.list()) > 0 || lost != 3 {
		t.Errorf("after the disk has space again: problems %+v, %d lines counted, %v", all.list(), lost, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
