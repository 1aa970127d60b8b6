package forward

import "math"

// Lane is what an attempt's capacity is shared between.
type Lane int

// The lanes.
const (
	LaneMain  Lane = iota // records of the main topic
	LaneRetry             // records of the tiers and park topics
	lanes
)

// shares has main and retries share the capacity: while records of both wait, retries get
// their share of the attempts at a time, and of those that start; alone, either gets all.
type shares struct {
	retry    float64 // above 0 and below 1
	inFlight [lanes]int
	owed     float64 // to the retries, in attempts
}

// pick returns whose turn it is, of those that wait, under a limit of attempts at a time.
func (s *shares) pick(waits [lanes]bool, limit int) Lane {
	switch {
	case !waits[LaneRetry]:
		return LaneMain
	case !waits[LaneMain]:
		return LaneRetry
	}
	room := s.room(limit)
	full := [lanes]bool{s.inFlight[LaneMain] >= room[LaneMain], s.inFlight[LaneRetry] >= room[LaneRetry]}
	switch {
	case full[LaneRetry] && !full[LaneMain]:
		return LaneMain
	case full[LaneMain] && !full[LaneRetry]:
		return LaneRetry
	}
	if s.owed += s.retry; s.owed >= 1 {
		s.owed--
		return LaneRetry
	}
	return LaneMain
}

// room is how many attempts at a time each may make while the other waits, one at least.
func (s *shares) room(limit int) [lanes]int {
	retries := min(max(1, int(math.Round(s.retry*float64(limit)))), max(1, limit-1))
	return [lanes]int{LaneMain: max(1, limit-retries), LaneRetry: retries}
}

// total is how many attempts are being made.
func (s *shares) total() int { return s.inFlight[LaneMain] + s.inFlight[LaneRetry] }
