package metrics

// Pause says why a partition is not read further.
type Pause string

// The reasons. A tier that was read far enough ahead pauses too, which is no want of room.
const (
	PauseRecords   Pause = "records"   // the window holds as many as it may
	PauseBytes     Pause = "bytes"     // the process holds much, and the partition all that is reserved for it
	PauseCompleted Pause = "completed" // the completed set might soon not fit beside a commit
)

func pauses() []Pause { return []Pause{PauseRecords, PauseBytes, PauseCompleted} }

// Window is what is held of a tier in memory, over the partitions of this instance. The
// zero value is nothing.
type Window struct {
	Records      int
	Bytes        int64
	CompletedSet float64       // the fullest of the partitions' rooms for the completed set: 1 or more was cut
	Repeating    float64       // the share of max_unfinished that the fullest partition has; 0: nothing is bounded
	Paused       map[Pause]int // partitions that are not read further, for want of room
}

// Add adds a partition. What is no reason of the above is no want of room.
func (w *Window) Add(records int, bytes int64, completedSet float64, pause Pause) {
	w.Records += records
	w.Bytes += bytes
	w.CompletedSet = max(w.CompletedSet, completedSet)
	if w.Paused == nil {
		w.Paused = map[Pause]int{}
	}
	w.Paused[pause]++
}

// SetWindow sets what is held in memory.
func (t *Tier) SetWindow(w Window) {
	t.windowRecords.Set(float64(w.Records))
	t.windowBytes.Set(float64(w.Bytes))
	t.completedSet.Set(w.CompletedSet)
	t.unfinished.Set(w.Repeating)
	for pause, gauge := range t.paused {
		gauge.Set(float64(w.Paused[pause]))
	}
}
