package tier

import (
	"maps"
	"slices"
	"time"

	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/status"
)

// Status is what the relay says of itself. It is fast, makes no request, and is safe
// for concurrent use, also before Run. Its numbers are as old as the last Measure.
func (r *Relay) Status() status.Relay {
	problems, fault := r.troubles.problems()
	s := status.Relay{
		Name:      r.config.Name,
		Ready:     !slices.ContainsFunc(problems, func(p status.Problem) bool { return p.Blocking }),
		Fault:     fault,
		Endpoint:  r.reach.endpoint,
		Problems:  problems,
		LastError: r.lastError.get(),
		DLT:       status.DLT{Topic: r.config.DLT.Topic, Records: r.deadLetters.Load()},
	}
	if r.config.Review.Enabled {
		s.Review = &status.DLT{Topic: r.config.Review.Topic, Records: r.reviews.Load()}
	}
	if h := r.halted(); h != nil {
		s.Halt = h
		s.Problems = append(s.Problems, status.Problem{Text: h.Text(r.config.Name), Since: h.Since})
	}
	for i := range r.working {
		if r.working[i].busy() {
			s.InFlight++
		}
	}
	consumers := r.members.all()
	for _, c := range consumers {
		s.Tiers = append(s.Tiers, c.status())
	}
	if len(consumers) == 0 { // the topics were not checked yet
		for _, src := range r.configured() {
			s.Tiers = append(s.Tiers, src.status())
		}
	}
	return s
}

func (s source) status() status.Tier {
	return status.Tier{
		Name: s.label, Topic: s.topic, Group: s.group,
		DelaySeconds: s.delay.Seconds(), Retired: s.retired, Partitions: []int32{},
	}
}

func (c *consumer) status() status.Tier {
	t := c.source.status()
	t.Joined = !c.relay.troubles.has(kindMember, c.source.group)
	t.LastError = c.lastError.get()
	s := c.session.Load()
	if s == nil {
		return t
	}
	t.Partitions = slices.AppendSeq(t.Partitions, maps.Keys(s.claimed()))
	slices.Sort(t.Partitions)
	for _, at := range s.measurements() {
		addTo(&t, at)
	}
	return t
}

// addTo adds a partition to its tier.
func addTo(t *status.Tier, at metrics.Partition) {
	t.Due, t.Held = plus(t.Due, at.Due), plus(t.Held, at.Held)
	t.OldestDue, t.Oldest = older(t.OldestDue, at.OldestDue), older(t.Oldest, at.Oldest)
	if !at.Furthest.IsZero() && (t.Furthest == nil || at.Furthest.After(*t.Furthest)) {
		furthest := at.Furthest.UTC()
		t.Furthest = &furthest
	}
}

// plus adds to a count that is nil while nothing is counted.
func plus(count *int64, n int64) *int64 {
	if count != nil {
		n += *count
	}
	return &n
}

// older returns the greater of two ages in seconds, of which 0 is none.
func older(seconds *float64, age time.Duration) *float64 {
	if s := age.Seconds(); s > 0 && (seconds == nil || s > *seconds) {
		return &s
	}
	return seconds
}

// measurements are those of the session's partitions, as far as they were measured.
func (s *session) measurements() []metrics.Partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.measured))
}
