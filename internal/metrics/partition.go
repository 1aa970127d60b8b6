package metrics

import (
	"strconv"
	"time"
)

// Partition is what a measurement found of a partition that this instance owns.
type Partition struct {
	Due  int64 // records that should be on their way to the endpoint
	Held int64 // records that wait for their time

	OldestDue time.Duration // how long the record that is due for longest has been due, or, while all that are due are unread, how long that has been so; 0: nothing is due
	Oldest    time.Duration // since the oldest record that is not done was first written; 0: there is none
	Furthest  time.Time     // when the last of the waiting records is due; zero: none waits
}

const (
	stateDue  = "due"
	stateHeld = "held"
)

// SetPartition sets the series of partition p, which appear with the first call.
// Clocks that differ make no negative age.
func (t *Tier) SetPartition(p int32, at Partition) {
	partition := strconv.Itoa(int(p))
	t.m.lag.WithLabelValues(t.relay, t.label, partition, stateDue).Set(float64(at.Due))
	t.m.lag.WithLabelValues(t.relay, t.label, partition, stateHeld).Set(float64(at.Held))
	t.m.oldestDueAge.WithLabelValues(t.relay, t.label, partition).Set(max(0, at.OldestDue).Seconds())
	t.m.oldestRecordAge.WithLabelValues(t.relay, t.label, partition).Set(max(0, at.Oldest).Seconds())
	t.m.furthestDue.WithLabelValues(t.relay, t.label, partition).Set(timestamp(at.Furthest))
}

// RemovePartition ends the series of a partition that this instance no longer owns:
// from then on its new owner exports them, and a sum must not count both.
func (t *Tier) RemovePartition(p int32) {
	partition := strconv.Itoa(int(p))
	t.m.lag.DeleteLabelValues(t.relay, t.label, partition, stateDue)
	t.m.lag.DeleteLabelValues(t.relay, t.label, partition, stateHeld)
	t.m.oldestDueAge.DeleteLabelValues(t.relay, t.label, partition)
	t.m.oldestRecordAge.DeleteLabelValues(t.relay, t.label, partition)
	t.m.furthestDue.DeleteLabelValues(t.relay, t.label, partition)
}

// timestamp is t in Unix seconds, 0 for the zero time.
func timestamp(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
