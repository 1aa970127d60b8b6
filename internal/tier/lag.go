package tier

import "time"

// lagInterval is how often the ends of the consumed topics are asked for.
const lagInterval = 5 * time.Second

// measureLag exports, per tier, how many records of the assigned partitions are
// due and how many are held. What is in the window is counted exactly; what is not
// read yet counts as held while reading is as far ahead as it goes, else as due.
func (r *Relay) measureLag() {
	sessions := map[*consumer]*session{}
	partitions := map[string][]int32{}
	r.status.each(func(c *consumer) {
		s := c.session.Load()
		if s == nil || len(s.claims) == 0 {
			c.metrics.SetLag(0, 0)
			c.metrics.SetWindow(0, 0)
			return
		}
		sessions[c] = s
		for p := range s.claims {
			partitions[c.source.topic] = append(partitions[c.source.topic], p)
		}
	})
	if len(partitions) == 0 {
		return
	}
	ends, err := r.cluster.Ends(partitions)
	if err != nil {
		r.warn("cannot measure lag", r.config.Topic, err)
		return
	}
	for c, s := range sessions {
		var sum gauge
		for p, claim := range s.claims {
			g := claim.gauge(ends[c.source.topic][p])
			sum = gauge{sum.due + g.due, sum.held + g.held, sum.records + g.records, sum.bytes + g.bytes}
		}
		c.metrics.SetLag(sum.due, sum.held)
		c.metrics.SetWindow(sum.records, sum.bytes)
	}
}

// gauge is what a claim tells of itself.
type gauge struct {
	due, held int
	records   int
	bytes     int64
}

// snapshot is what run publishes for gauge, since it owns the window.
type snapshot struct {
	at     time.Time
	due    int   // in the window, and due
	held   int   // in the window, and not due
	out    int   // with a worker or a producer
	next   int64 // offset of the next record to be read
	ahead  bool
	paused bool
}

// measured is what a measurement found of a partition.
type measured struct{ next, end int64 }

// publish takes a snapshot, at most once per tickInterval.
func (c *claim) publish(now time.Time) {
	if now.Sub(c.seen.at) < tickInterval {
		return
	}
	due := c.window.CountDue(now.UnixMilli()) + c.unwritten.Len()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = snapshot{
		at: now, due: due, held: c.window.Len() + c.unwritten.Len() - due, out: c.outside,
		next: c.unread, ahead: c.ahead(now), paused: c.paused,
	}
}

func (c *claim) gauge(end int64) gauge {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := gauge{
		due:     c.seen.due + c.seen.out,
		held:    c.seen.held,
		records: c.seen.due + c.seen.held + c.seen.out,
		bytes:   c.share.Held(),
	}
	unread := int(max(0, end-c.seen.next))
	// The markers that end transactions, and aborted records, have offsets and never
	// come: what is at the end, and has not come since the measurement before although
	// the client fetches, is of that kind.
	before := c.measured
	c.measured = measured{c.seen.next, end}
	if c.measured == before && !c.seen.paused {
		unread = 0
	}
	if c.seen.ahead {
		g.held += unread
	} else {
		g.due += unread
	}
	return g
}
