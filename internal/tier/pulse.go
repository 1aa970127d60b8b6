package tier

import (
	"fmt"
	"sync/atomic"
	"time"
)

// How long something may take before it counts as standing still. Each is more than
// all that it waits for can take, so that neither a cluster nor an endpoint that hangs
// is ever the reason.
const (
	// loopPatience is for the loop of a claim, which waits for at most a tick.
	loopPatience = 30 * time.Second
	// attemptPatience comes on top of the endpoint's timeout.
	attemptPatience = 30 * time.Second
	// commitPatience is for one commit. The coordinator is looked for at one broker after
	// the other, which takes a connect and an answer each (5 s and 5 s), twice at most:
	// that is 15 brokers which all hang.
	commitPatience = 5 * time.Minute
	// watchPatience is for one look at the topics: as many requests as a commit, a dozen
	// times, and the wait for a producer that another relay connects.
	watchPatience = 30 * time.Minute
)

// pulse tells since when something has been busy. Times are the relay's age: of the
// monotonic clock, which a step of the wall clock does not move.
type pulse struct{ since atomic.Int64 } // 0: it waits for work

func (p *pulse) beat(age time.Duration) { p.since.Store(int64(age) | 1) }
func (p *pulse) rest()                  { p.since.Store(0) }
func (p *pulse) busy() bool             { return p.since.Load() != 0 }

// stands returns how long it has been busy, if that is longer than patience, else 0.
func (p *pulse) stands(age, patience time.Duration) time.Duration {
	since := time.Duration(p.since.Load())
	if since == 0 || age-since <= patience {
		return 0
	}
	return (age - since).Round(time.Second)
}

// Stalled returns what makes no progress, or "". That is a defect of retryd, or of the
// machine: the health of Kafka and of the endpoint has no part in it. It takes no lock
// that is held while anything is waited for.
//
// A process that was stopped (SIGSTOP) seems to stand still until everything has gone
// round once: the caller should act only on what several looks in a row found.
func (r *Relay) Stalled(now time.Time) string {
	age := now.Sub(r.born)
	if d := r.watching.stands(age, watchPatience); d > 0 {
		return fmt.Sprintf("the look at the topics has not ended for %s", d)
	}
	for i := range r.working {
		if d := r.working[i].stands(age, r.config.Endpoint.Timeout+attemptPatience); d > 0 {
			return fmt.Sprintf("an attempt has not ended for %s, endpoint.timeout is %s", d, r.config.Endpoint.Timeout)
		}
	}
	for _, c := range r.members.all() {
		if d := c.writing.stands(age, commitPatience); d > 0 {
			return fmt.Sprintf("a commit of group %s has not ended for %s", c.source.group, d)
		}
		if s := c.session.Load(); s != nil {
			if what := s.stalled(age); what != "" {
				return what
			}
		}
	}
	return ""
}

func (s *session) stalled(age time.Duration) string {
	for p, c := range s.claimed() {
		if d := c.turning.stands(age, loopPatience); d > 0 {
			return fmt.Sprintf("the loop of partition %s/%d has not gone round for %s", s.consumer.source.topic, p, d)
		}
	}
	return ""
}
