package forward

import "time"

// leastShare is the share of a rate with which a ramp begins.
const leastShare = 0.05

// ramp has delivery grow to its limits again after a pause, where a flood of what has
// waited could bring the endpoint down at once. The zero value is none.
type ramp struct {
	length time.Duration // 0: at once
	from   time.Time     // zero: it is over
}

// share returns how much of the limits there is, from leastShare to 1.
func (r *ramp) share(now time.Time) float64 {
	if r.from.IsZero() {
		return 1
	}
	passed := now.Sub(r.from)
	if passed >= r.length {
		r.from = time.Time{}
		return 1
	}
	return max(leastShare, float64(passed)/float64(r.length))
}

// limit returns how many attempts there may be at a time, one at least.
func (r *ramp) limit(full int, share float64) int { return max(1, int(share*float64(full))) }

// grows returns when the limit is next one higher; zero if it is full.
func (r *ramp) grows(full int, now time.Time) time.Time {
	share := r.share(now)
	if share >= 1 {
		return time.Time{}
	}
	next := float64(r.limit(full, share)+1) / float64(full)
	return r.from.Add(time.Duration(min(next, 1) * float64(r.length)))
}

// patience is how long to wait for what takes so long at the present share: less on a ramp,
// on which that grows.
func (r *ramp) patience(wait time.Duration, now time.Time) time.Duration {
	if r.share(now) >= 1 {
		return wait
	}
	return min(wait, max(r.length/20, time.Millisecond))
}
