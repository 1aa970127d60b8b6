package policy

import "github.com/retryd/retryd/internal/record"

// Blame turns an answer about the endpoint into one about the record, which got it while
// the endpoint accepted others: a doubtful one rejects it, any other is the last that the
// record may have.
func Blame(s Schedule, state record.State, o Outcome) (record.State, Outcome) {
	if o.Doubtful {
		o.Treatment, o.Class = TreatDeadLetter, ClassInvalid
		return state, o
	}
	o.Treatment = TreatLimited
	state.Limited = max(state.Limited, s.LimitedAttempts-1)
	return state, o
}
