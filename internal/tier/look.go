package tier

import (
	"time"

	"github.com/retryd/retryd/internal/metrics"
)

// snapshot is what a claim knew of its records when run last looked. The zero times
// are none.
type snapshot struct {
	due      int       // records that should be on their way, those in flight included
	held     int       // records that wait for their time
	dueSince time.Time // of the record that has been due for longest
	oldest   time.Time // origin of the oldest record
	furthest time.Time // when the last of the waiting ones is due
	next     int64     // offset of the next record to be read
	paused   bool
}

// measured is what a measurement found of a partition.
type measured struct{ next, end int64 }

// ask has run look at what it holds, at once, without waiting for it.
func (c *claim) ask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = true
	c.nudge()
}

// look goes over all records that were read and are not complete. It costs some
// milliseconds where tens of thousands are held.
func (c *claim) look(now time.Time) {
	s := snapshot{next: c.unread, paused: c.paused}
	for due, j := range c.window.All() {
		s.add(j, due <= now.UnixMilli())
	}
	for _, j := range c.unwritten.All() {
		s.add(j, true)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.outside {
		s.add(j, true)
	}
	c.seen = s
}

func (s *snapshot) add(j *job, due bool) {
	s.oldest = earlier(s.oldest, j.origin())
	if due {
		s.due++
		s.dueSince = earlier(s.dueSince, j.dueSince())
		return
	}
	s.held++
	if at := time.UnixMilli(j.due); at.After(s.furthest) {
		s.furthest = at
	}
}

// records returns what was read and is not complete, as run last saw it.
func (c *claim) records() (n int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.due + c.seen.held, c.share.Held()
}

// hasUnread reports whether records below end are not read yet.
func (c *claim) hasUnread(end int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.next < end
}

// reading is the partition as it is at now. end is where the partition ends, and young
// the offset of the first record that is younger than the tier's delay, -1 if none is:
// those before it are due.
//
// Of records that were read everything is known. Of those that were not, only how many
// they are: they count for neither age (they are younger than what was read, which is
// held until it is complete), and the last of those that wait is due, by the schedule,
// within the tier's longest delay from now. What a header says otherwise is not known
// before it is read.
func (c *claim) reading(now time.Time, end, young int64) metrics.Partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seen
	due, held := split(c.unreadUpTo(end), s.next, young)
	at := metrics.Partition{Due: int64(s.due) + due, Held: int64(s.held) + held, Furthest: s.furthest}
	if last := now.Add(c.consumer.source.most); held > 0 && last.After(s.furthest) {
		at.Furthest = last
	}
	at.OldestDue, at.Oldest = ago(now, s.dueSince), ago(now, s.oldest)
	return at
}

// unreadUpTo counts what is not read yet. The markers that end transactions, and
// aborted records, have offsets and never come: what is at the end, and has not come
// since the measurement before although the client fetches, is of that kind. The caller
// holds mu.
func (c *claim) unreadUpTo(end int64) int64 {
	before := c.measured
	c.measured = measured{c.seen.next, end}
	fetches := !c.seen.paused && !c.relay.troubles.has(kindRead, c.consumer.source.topic)
	if c.measured == before && fetches {
		return 0
	}
	return max(0, end-c.seen.next)
}

// split tells how many of n records, from offset next on, are due: those before young,
// or all if no record is young.
func split(n, next, young int64) (due, held int64) {
	if young < 0 {
		return n, 0
	}
	due = min(max(0, young-next), n)
	return due, n - due
}

// ago is how long ago a time was; 0 for none and for one that another clock sees ahead.
func ago(now, since time.Time) time.Duration {
	if since.IsZero() {
		return 0
	}
	return max(0, now.Round(0).Sub(since))
}
