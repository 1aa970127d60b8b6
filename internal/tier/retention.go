package tier

import "time"

// retention is for how long a source keeps its records; 0: for ever, as far as is known.
// A tier that is no longer configured is not looked at: it keeps what tiers have to.
func (r *Relay) retention(src source) time.Duration {
	if src.retired {
		return leastTierRetention
	}
	rt := r.routes.Load()
	if rt == nil {
		return 0
	}
	keeps, _ := rt.topics[src.topic].Retention()
	return keeps
}
