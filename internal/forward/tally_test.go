package forward

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTallyCountsTheWindowThatRolls compares it with a list of all calls.
func TestTallyCountsTheWindowThatRolls(t *testing.T) {
	type call struct {
		slot   int64
		failed bool
	}
	rapid.Check(t, func(t *rapid.T) {
		begun := time.Now()
		tally := newTally(10*time.Second, begun)
		var calls []call
		now := begun
		for range rapid.IntRange(1, 100).Draw(t, "calls") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(4*time.Second)).Draw(t, "pause")))
			failed := rapid.Bool().Draw(t, "failed")
			tally.add(now, failed)
			slot := int64(now.Sub(begun) / time.Second)
			calls = append(calls, call{slot, failed})
			var all, fails int
			for _, c := range calls {
				if c.slot > slot-slots {
					all++
					if c.failed {
						fails++
					}
				}
			}
			if gotAll, gotFailed := tally.sum(); gotAll != all || gotFailed != fails {
				t.Fatalf("%d calls, %d failed; want %d, %d", gotAll, gotFailed, all, fails)
			}
		}
		tally.clear()
		if all, failed := tally.sum(); all != 0 || failed != 0 {
			t.Fatalf("%d calls, %d failed after it was cleared", all, failed)
		}
	})
}
