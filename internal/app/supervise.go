package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/status"
)

const (
	// lookInterval is how old the status line may be that a supervisor shows.
	lookInterval = time.Second
	// stopMargin is what a stop may take beyond the stop timeout: giving up on what is
	// in flight, the last answers of the admin listener, and closing connections to
	// brokers that do not answer.
	stopMargin = 15 * time.Second

	// stallLooks is how many looks in a row must find something standing still before
	// it is reported. After a SIGSTOP everything seems to, for a moment.
	stallLooks = 3
	// extendInterval is how often more time is asked for during a stop.
	extendInterval = 5 * time.Second
)

// The assignments of sd_notify(3) that are sent.
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
	stateWatchdog = "WATCHDOG=1"
	stateStatus   = "STATUS="
	stateExtend   = "EXTEND_TIMEOUT_USEC="
)

// supervisor watches that nothing stands still, and tells the service manager how the
// process is, if there is one. Only its own goroutine sends, so that a service manager
// that takes no messages holds up nothing else.
type supervisor struct {
	notify      func(state string) error // nil: there is no service manager
	watchdog    time.Duration            // its timeout; 0: it has none
	stopTimeout time.Duration
	process     func() status.Process
	stalled     func() string
	log         *zap.Logger

	ready    bool      // READY was sent
	told     string    // the status line that was sent last
	patted   time.Time // when the watchdog was
	extended time.Time // when more time was asked for
	until    time.Time // a stop has ended by then
	stalls   int       // looks in a row that found something standing still
	failed   bool      // to send: said once
}

// run tells that the process is ready, looks until ctx ends, tells that it stops, and
// goes on looking until ended ends.
func (s *supervisor) run(ctx, ended context.Context) {
	s.patted = time.Now()
	s.look(s.patted)
	s.each(ctx, s.look)
	s.until = time.Now().Add(s.stopTimeout + stopMargin)
	s.lookAtStop(time.Now(), stateStopping)
	s.each(ended, func(now time.Time) { s.lookAtStop(now) })
}

// each calls look again and again until ctx ends.
func (s *supervisor) each(ctx context.Context, look func(now time.Time)) {
	tick := time.NewTicker(s.interval())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			look(time.Now())
		}
	}
}

// interval is short enough for a pat in less than half of the watchdog's timeout.
func (s *supervisor) interval() time.Duration {
	if s.watchdog == 0 {
		return lookInterval
	}
	return min(lookInterval, max(s.watchdog/8, time.Millisecond))
}

func (s *supervisor) look(now time.Time) {
	what := s.findStall()
	text := s.process().Summary()
	if what != "" {
		text = status.Headline("stands still: " + what) // many relays may
	}
	var states []string
	if !s.ready {
		states = append(states, stateReady)
	}
	states = append(states, s.line(text)...)
	if s.stalls == 0 {
		states = append(states, s.pat(now)...)
	}
	s.send(states...)
}

// lookAtStop pats in any case: a stop that hangs ends by its own timeout.
func (s *supervisor) lookAtStop(now time.Time, first ...string) {
	inFlight := 0
	for _, r := range s.process().Relays {
		inFlight += r.InFlight
	}
	text := fmt.Sprintf("stopping, within %s; attempts in flight: %d", s.stopTimeout, inFlight)
	s.send(slices.Concat(first, s.line(text), s.extend(now), s.pat(now))...)
}

// findStall returns what has been standing still for a few looks, and logs it once.
func (s *supervisor) findStall() string {
	what := s.stalled()
	if what == "" {
		if s.stalls >= stallLooks {
			s.log.Info("what stood still goes on")
		}
		s.stalls = 0
		return ""
	}
	s.stalls++
	if s.stalls == stallLooks {
		s.log.Error("something stands still: a supervisor with a watchdog restarts the process",
			zap.String("what", what), zap.Duration("watchdog", s.watchdog))
	}
	if s.stalls < stallLooks {
		return ""
	}
	return what
}

// line is the status line, where it is not the one that was told last.
func (s *supervisor) line(text string) []string {
	if text == s.told {
		return nil
	}
	return []string{stateStatus + text}
}

func (s *supervisor) pat(now time.Time) []string {
	if s.watchdog == 0 || now.Sub(s.patted) < s.watchdog/4 {
		return nil
	}
	s.patted = now
	return []string{stateWatchdog}
}

// extend asks for the time until the stop has ended, which the service manager counts
// from the message on. It is repeated in case that one is lost, and not sent beyond:
// then the stop hangs.
func (s *supervisor) extend(now time.Time) []string {
	left := s.until.Sub(now)
	if left <= 0 || !s.extended.IsZero() && now.Sub(s.extended) < extendInterval {
		return nil
	}
	s.extended = now
	return []string{fmt.Sprintf("%s%d", stateExtend, left.Microseconds())}
}

// send sends assignments as one message. What cannot be sent is sent again with the
// next look, where it still matters.
func (s *supervisor) send(states ...string) {
	if s.notify == nil || len(states) == 0 {
		return
	}
	if err := s.notify(strings.Join(states, "\n")); err != nil {
		if !s.failed {
			s.log.Warn("the supervisor cannot be told how the process is; check NOTIFY_SOCKET", zap.String(logging.FieldError, err.Error()))
		}
		s.failed = true
		return
	}
	s.ready = true // which is in the first message
	for _, state := range states {
		if text, ok := strings.CutPrefix(state, stateStatus); ok {
			s.told = text
		}
	}
}
