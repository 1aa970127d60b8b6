package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/status"
)

// stage is a supervisor in simulated time, and a service manager that takes notes.
type stage struct {
	*supervisor
	logs *observer.ObservedLogs

	mu      sync.Mutex
	began   time.Time
	notes   []note
	refuses bool
	problem string
	stall   string
	flight  int
}

type note struct {
	At   time.Duration
	Text string
}

func newStage(watchdog, stopTimeout time.Duration) *stage {
	core, logs := observer.New(zapcore.DebugLevel)
	g := &stage{began: time.Now(), logs: logs, supervisor: &supervisor{
		watchdog: watchdog, stopTimeout: stopTimeout, log: zap.New(core),
	}}
	g.notify = func(text string) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.refuses {
			return errors.New("nobody listens")
		}
		g.notes = append(g.notes, note{time.Since(g.began), text})
		return nil
	}
	g.stalled = func() string { return locked(g, func() string { return g.stall }) }
	g.process = func() status.Process { return locked(g, g.say) }
	return g
}

func (g *stage) say() status.Process {
	var problems []status.Problem
	if g.problem != "" {
		problems = []status.Problem{{Text: g.problem, Blocking: true}}
	}
	relays := []status.Relay{{Name: "orders", Ready: true, InFlight: g.flight}}
	return status.Assemble("test", g.began, time.Now(), problems, relays)
}

func locked[T any](g *stage, f func() T) T {
	g.mu.Lock()
	defer g.mu.Unlock()
	return f()
}

func (g *stage) set(change func()) { locked(g, func() bool { change(); return true }) }

// play runs the supervisor: act until the stop begins, stop until it ends.
func (g *stage) play(t *testing.T, act, stop func()) []note {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.run(ctx, ended)
	}()
	synctest.Wait()
	act()
	cancel()
	synctest.Wait()
	stop()
	end()
	<-done
	return g.notes
}

func nothing() {}

// times returns when a message with this assignment came.
func times(notes []note, assignment string) []time.Duration {
	var all []time.Duration
	for _, n := range notes {
		if slices.Contains(strings.Split(n.Text, "\n"), assignment) {
			all = append(all, n.At)
		}
	}
	return all
}

func TestSupervisorTellsReadyAndThenWhatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(0, 30*time.Second)
		g.problem = "waiting for Kafka at a:9092"
		notes := g.play(t, func() {
			time.Sleep(4500 * time.Millisecond)
			g.set(func() { g.problem = "" })
			time.Sleep(time.Minute)
			g.set(func() { g.flight = 2 })
		}, func() {
			time.Sleep(1500 * time.Millisecond)
			g.set(func() { g.flight = 1 })
			time.Sleep(time.Second)
		})
		want := []note{
			{0, "READY=1\nSTATUS=waiting for Kafka at a:9092"},
			{5 * time.Second, "STATUS=ready: 1 relay"},
			{64500 * time.Millisecond, "STOPPING=1\nSTATUS=stopping, within 30s; attempts in flight: 2\nEXTEND_TIMEOUT_USEC=45000000"},
			{66500 * time.Millisecond, "STATUS=stopping, within 30s; attempts in flight: 1"},
		}
		if diff := cmp.Diff(want, notes); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		if n := g.logs.Len(); n > 0 {
			t.Errorf("%d lines were logged", n)
		}
	})
}

func TestWatchdogIsPattedInLessThanHalfOfItsTimeout(t *testing.T) {
	for _, timeout := range []time.Duration{100 * time.Millisecond, 2 * time.Second, 3 * time.Second, time.Minute} {
		t.Run(timeout.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newStage(timeout, time.Second)
				run := 10 * timeout
				pats := times(g.play(t, func() { time.Sleep(run) }, nothing), stateWatchdog)
				last := time.Duration(0)
				for _, at := range append(pats, run) {
					if at-last >= timeout/2 {
						t.Errorf("no pat from %v to %v", last, at)
					}
					last = at
				}
				if most := int(run/(timeout/4)) + 1; len(pats) > most {
					t.Errorf("%d pats, want at most %d", len(pats), most)
				}
			})
		})
	}
}

func TestProcessThatStandsStillIsNotPattedAndSaysSoOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 20 * time.Second
		g := newStage(timeout, time.Second)
		const from, to = 30 * time.Second, 90 * time.Second
		notes := g.play(t, func() {
			time.Sleep(from + time.Millisecond)
			g.set(func() { g.stall = "relay orders: a claim waits for ever" })
			time.Sleep(to - from)
			g.set(func() { g.stall = "" })
			time.Sleep(timeout)
		}, nothing)
		for _, at := range times(notes, stateWatchdog) {
			if at > from && at < to {
				t.Errorf("patted after %v, while it stood still", at)
			}
		}
		if got := times(notes, "STATUS=stands still: relay orders: a claim waits for ever"); len(got) != 1 || got[0] > from+stallLooks*time.Second {
			t.Errorf("the status line says what stands still at %v, want once soon after %v", got, from)
		}
		if got := times(notes, stateWatchdog); got[len(got)-1] < to {
			t.Error("not patted again once it went on")
		}
		var lines []string
		for _, l := range g.logs.All() {
			lines = append(lines, fmt.Sprintf("%v %s %v", l.Level, l.Message, l.ContextMap()))
		}
		want := []string{
			"error something stands still: a supervisor with a watchdog restarts the process map[watchdog:20s what:relay orders: a claim waits for ever]",
			"info what stood still goes on map[]",
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// After a SIGSTOP everything has been standing still, until it had its turn.
func TestLookThatFindsAStallForAMomentCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(4*time.Second, time.Second)
		notes := g.play(t, func() {
			time.Sleep(10*time.Second + time.Millisecond)
			g.set(func() { g.stall = "everything" })
			time.Sleep(lookInterval)
			g.set(func() { g.stall = "" })
			time.Sleep(lookInterval)
		}, nothing)
		if pats := times(notes, stateWatchdog); pats[len(pats)-1] <= 11*time.Second {
			t.Errorf("the last pat was at %v, want one in the look after the stall", pats[len(pats)-1])
		}
		if g.logs.Len() > 0 {
			t.Errorf("logged %v", g.logs.All())
		}
	})
}

func TestStopAsksForTimeUntilItHasEnded(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, 30 * time.Second, 20 * time.Minute} {
		t.Run(timeout.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newStage(0, timeout)
				g.stall = "the relay that hangs" // is no reason to be killed before the end
				notes := g.play(t, nothing, func() { time.Sleep(2 * (timeout + stopMargin)) })
				granted, last := time.Duration(0), time.Duration(0)
				for _, n := range notes {
					_, usec, ok := strings.Cut(n.Text, stateExtend)
					if !ok {
						continue
					}
					left, err := strconv.Atoi(usec)
					if err != nil {
						t.Fatal(err)
					}
					if n.At > granted && n.At > 0 {
						t.Errorf("asked at %v, after the time granted, %v", n.At, granted)
					}
					if n.At-last > 10*time.Second {
						t.Errorf("asked at %v and not again until %v", last, n.At)
					}
					granted, last = n.At+time.Duration(left)*time.Microsecond, n.At
				}
				if granted != timeout+stopMargin {
					t.Errorf("time is granted for %v, want %v and no more: a stop that hangs must end", granted, timeout+stopMargin)
				}
			})
		})
	}
}

func TestServiceManagerThatCannotBeToldIsToldLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(time.Minute, time.Second)
		g.refuses = true
		notes := g.play(t, func() {
			time.Sleep(10*time.Second + time.Millisecond)
			g.set(func() { g.refuses = false })
			time.Sleep(lookInterval)
		}, nothing)
		if want := (note{11 * time.Second, "READY=1\nSTATUS=ready: 1 relay"}); len(notes) == 0 || notes[0] != want {
			t.Errorf("messages %v, want %v first", notes, want)
		}
		if g.logs.Len() != 1 || g.logs.All()[0].Level != zapcore.WarnLevel {
			t.Errorf("logged %v, want one warning", g.logs.All())
		}
	})
}

func TestStatusLineIsBoundedAndStaysText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(0, time.Second)
		g.stall = strings.Repeat("ü\n", 5000)
		notes := g.play(t, func() { time.Sleep(stallLooks * lookInterval) }, nothing)
		text := notes[1].Text
		if len(text) > 4096 || !utf8.ValidString(text) || strings.Contains(text, "\n") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	})
}

func TestWithoutAServiceManagerAStallIsLoggedAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(0, time.Second)
		g.notify, g.stall = nil, "everything"
		g.play(t, func() { time.Sleep(time.Minute) }, nothing)
		if g.logs.FilterLevelExact(zapcore.ErrorLevel).Len() != 1 {
			t.Errorf("logged %v, want one error", g.logs.All())
		}
	})
}
