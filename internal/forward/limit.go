package forward

import (
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"golang.org/x/time/rate"

	"github.com/retryd/retryd/internal/policy"
)

// limits bound the attempts at a time and their rate.
type limits struct {
	full      int
	perSecond float64
	burst     int
	rate      *rate.Limiter                             // nil: no bound
	adaptive  adaptivelimiter.AdaptiveLimiter[struct{}] // nil: none
	ramp      ramp
	share     float64 // of the rate that is set
}

func newLimits(c Config) limits {
	l := limits{full: c.MaxInFlight, perSecond: c.Rate.PerSecond, burst: c.Rate.burst(), ramp: ramp{length: c.Breaker.Ramp}, share: 1}
	if l.perSecond > 0 {
		l.rate = rate.NewLimiter(rate.Limit(l.perSecond), l.burst)
	}
	if c.Adaptive {
		most := uint(c.MaxInFlight)
		l.adaptive = adaptivelimiter.NewBuilder[struct{}]().WithLimits(1, most, min(adaptiveStart, most)).Build()
	}
	return l
}

// adaptiveStart is the adaptive limit to begin with: low, since what it sees first is
// taken for the latency of an endpoint that is not busy.
const adaptiveStart = 4

// held is what an attempt has of the limits until it is over.
type held struct{ permit adaptivelimiter.Permit }

// record gives it back; the time that it took counts as the endpoint's latency.
func (h held) record() {
	if h.permit != nil {
		h.permit.Record()
	}
}

// drop gives it back, and its time says nothing.
func (h held) drop() {
	if h.permit != nil {
		h.permit.Drop()
	}
}

// take lets one more attempt start beside so many, and returns how many there may be at a
// time. If it may not, again is when to try again; zero: after another one is over.
func (l *limits) take(now time.Time, inFlight int) (h held, limit int, again time.Time, ok bool) {
	share := l.ramp.share(now)
	if limit = l.ramp.limit(l.full, share); inFlight >= limit {
		return held{}, limit, l.ramp.grows(l.full, now), false
	}
	if l.adaptive != nil {
		if h.permit, ok = l.adaptive.TryAcquirePermit(); !ok {
			return held{}, limit, time.Time{}, false
		}
		limit = min(limit, l.adaptive.Limit())
	}
	if wait := l.token(now, share); wait > 0 {
		h.drop()
		return held{}, limit, now.Add(l.ramp.patience(wait, now)), false
	}
	return h, limit, time.Time{}, true
}

// token takes a token of the rate, or returns how long to wait for one.
func (l *limits) token(now time.Time, share float64) time.Duration {
	if l.rate == nil {
		return 0
	}
	l.setRate(now, share)
	r := l.rate.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// setRate sets the share of the rate, and lets nothing be saved up on a ramp.
func (l *limits) setRate(now time.Time, share float64) {
	if share == l.share {
		return
	}
	l.share = share
	burst := l.burst
	if share < 1 {
		burst = 1
	}
	l.rate.SetLimitAt(now, rate.Limit(share*l.perSecond))
	l.rate.SetBurstAt(now, burst)
}

// now returns how many attempts there may be at a time, and which limit keeps one more
// from starting beside so many.
func (l *limits) now(now time.Time, inFlight int) (limit int, by policy.Limit) {
	share := l.ramp.share(now)
	limit = l.ramp.limit(l.full, share)
	most := limit
	if l.adaptive != nil {
		most = min(limit, l.adaptive.Limit())
	}
	switch {
	case share < 1 && (inFlight >= limit || l.rate != nil):
		by = policy.LimitRamp
	case inFlight >= limit:
		by = policy.LimitInFlight
	case inFlight >= most:
		by = policy.LimitAdaptive
	case l.rate != nil && l.rate.TokensAt(now) < 1:
		by = policy.LimitRate
	}
	return most, by
}

// Limiting returns how many attempts there may be at a time now, and which limit, if one
// does, keeps another from starting.
func (g *Gate) Limiting(now time.Time) (limit int, by policy.Limit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	limit, by = g.limits.now(now, g.shares.total())
	if g.halted || g.state.Paused() && now.Before(g.state.Until) || g.state.Phase != policy.PhaseClosed {
		return 0, policy.LimitNone // that is no limit
	}
	return limit, by
}
