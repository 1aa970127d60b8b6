package tier

import (
	"time"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

// job is a record on its way through one claim. There is one for each record: up to 512
// bytes are allocated more cheaply. What a delivery needs comes first: its worker mostly
// runs on another processor than the loop that read the record, and fetches it from there
// in lines of 64 bytes.
type job struct {
	claim  *claim
	due    int64 // epoch ms; when it may be let out
	size   int64 // bytes charged to the window
	place  int   // among the claim's jobs that are outside, from 1; 0: it is held
	move   *move // what is decided but not yet acknowledged; nil: the record is to be attempted
	stays  int64 // epoch ms; until then it is not re-parked, since a write of that failed; owned as due is
	again  int32 // POSTs that it gets or got in its place beside the first; its worker uses it
	lent   bool  // the record's bytes are another's: a fetch response's, or during an attempt its worker's
	chosen bool  // by a sweep that goes on, to be re-parked
	excess bool  // it may not repeat its last step; written under the claim's mu

	record record.Record
	state  record.State // written under the claim's mu

	pressed  policy.Cause     // what pressed when it was chosen to be re-parked
	refusals forward.Refusals // answers about the endpoint that it got while it was held here
}

// own has the job own its record's bytes.
func (j *job) own() {
	if j.lent {
		j.record.Own()
		j.lent = false
	}
}

// notBefore returns the epoch milliseconds before which a record is not delivered; 0
// if nothing says so, or once it was judged.
func (j *job) notBefore() int64 {
	if j.state.NotBefore.IsZero() || j.move != nil {
		return 0
	}
	return j.state.NotBefore.UnixMilli()
}

// dueSince returns since when a record should be on its way to the endpoint, or when
// that will be: its x-not-before; without one, as on main, it is due from the start.
func (j *job) dueSince() time.Time {
	if j.state.NotBefore.IsZero() {
		return j.record.Timestamp
	}
	return j.state.NotBefore
}

// origin returns the timestamp of the main record, or the record's own if that is not
// known.
func (j *job) origin() time.Time {
	if j.state.Origin.Timestamp.IsZero() {
		return j.record.Timestamp
	}
	return j.state.Origin.Timestamp
}
