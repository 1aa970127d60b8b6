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
	fetching time.Time // since when the client fetches; zero: it does not
}

// measured is what the measurements of a partition found. The zero value is none.
type measured struct {
	next, end int64
	since     time.Time // when they first did
	dueUnread time.Time // since when records are due, none of which is read
}

// fetchTime is more than the client and the broker need to bring a record that is
// there: a fetch waits for 2 s at most.
const fetchTime = 3 * time.Second

// ask has run look at what it holds, at once, without waiting for it.
func (c *claim) ask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = true
	c.nudge()
}

// lookIfAsked goes over all records that were read and are not complete. It costs some
// milliseconds where tens of thousands are held.
func (c *claim) lookIfAsked(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked {
		return
	}
	c.asked = false
	s := snapshot{next: c.unread}
	if c.paused == "" {
		s.fetching = c.fetching
	}
	for due, j := range c.window.All() {
		s.add(j, due <= now.UnixMilli())
	}
	for due, j := range c.parking.All() {
		s.add(j, due <= now.UnixMilli())
	}
	for _, j := range c.unwritten.All() {
		s.add(j, true)
	}
	for _, j := range c.outside {
		s.add(j, j.due <= now.UnixMilli())
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

// room returns how full the room for the completed set is, and why nothing more is
// read, if so.
func (c *claim) room() (setUsed float64, pause metrics.Pause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setUsed, c.paused
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
// they are: the last of those that wait is due, by the schedule, within the tier's
// longest delay from now, and what a header says otherwise is not known before it is
// read. They are younger than what was read, which is held until it is complete, so
// they count for no age; but where all that is due is unread, it has been due for at
// least as long as that has been so.
func (c *claim) reading(now time.Time, end, young int64) metrics.Partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seen
	due, held := split(c.unreadUpTo(now, end), s.next, young)
	at := metrics.Partition{Due: int64(s.due) + due, Held: int64(s.held) + held, Furthest: s.furthest}
	if last := now.Add(c.consumer.source.most); held > 0 && last.After(s.furthest) {
		at.Furthest = last
	}
	at.OldestDue, at.Oldest = ago(now, earlier(s.dueSince, c.dueUnread(now, at.Due))), ago(now, s.oldest)
	return at
}

// dueUnread returns since when records are due of which none is read; zero: that is not
// so. The caller holds mu.
func (c *claim) dueUnread(now time.Time, due int64) time.Time {
	switch {
	case due == 0 || c.seen.due > 0:
		c.measured.dueUnread = time.Time{}
	case c.measured.dueUnread.IsZero():
		c.measured.dueUnread = now
	}
	return c.measured.dueUnread
}

// unreadUpTo counts what is not read yet. The markers that end transactions, and
// aborted records, have offsets and never come: what is at the end, and has not come
// although the client had the time to fetch it, is of that kind. The caller holds mu.
func (c *claim) unreadUpTo(now time.Time, end int64) int64 {
	m := &c.measured
	if m.since.IsZero() || m.next != c.seen.next || m.end != end {
		m.next, m.end, m.since = c.seen.next, end, now
	}
	fetches := !c.seen.fetching.IsZero() && !c.relay.troubles.isOpen(kindRead, c.name)
	if fetches && now.Sub(m.since) >= fetchTime && now.Sub(c.seen.fetching) >= fetchTime {
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
