package harness

import (
	"fmt"
	"strings"
	"testing"
)

// Finding is one fault. ID is the record's event id, or where it was written.
type Finding struct {
	ID     string
	Detail string
}

// Report says what became of the records of a ledger.
type Report struct {
	Written      int // records
	Requests     int // that the endpoint saw, repeats and failures included
	Accepted     int // records with at least one accepted request
	DeadLettered int // records with at least one dead letter

	// These break a promise of retryd whatever happened during the run.
	Lost       []Finding // neither accepted nor dead-lettered
	Early      []Finding // a request that arrived before its x-not-before
	WrongBytes []Finding // a request, hop or dead letter that differs from what was written
	Unknown    []Finding // a request, hop or dead letter of a record that was never written, or was aborted

	// These are for the test to judge: a crash, a lost answer or an outage
	// explains some.
	Repeated      []Finding // more than one end: accepted or dead-lettered again
	Disordered    []Finding // first accepted before an earlier record of its key
	WrongAttempts []Finding // attempt numbers that do not count up by one for each attempt spent
}

// String returns all counts in one line.
func (r Report) String() string {
	return fmt.Sprintf("written=%d requests=%d accepted=%d dead=%d lost=%d early=%d wrong_bytes=%d unknown=%d "+
		"repeated=%d disordered=%d wrong_attempts=%d",
		r.Written, r.Requests, r.Accepted, r.DeadLettered, len(r.Lost), len(r.Early), len(r.WrongBytes), len(r.Unknown),
		len(r.Repeated), len(r.Disordered), len(r.WrongAttempts))
}

// Check fails the test unless no promise was broken: nothing lost, early, changed
// or made up. Repeats, order and attempt numbers are the caller's to judge.
func (r Report) Check(t testing.TB) {
	t.Helper()
	if faults := r.broken(); faults != "" {
		t.Errorf("%s%s", r, faults)
	}
}

// broken describes the first findings of each kind that breaks a promise.
func (r Report) broken() string {
	return describe("lost", r.Lost) + describe("early", r.Early) +
		describe("wrong bytes", r.WrongBytes) + describe("unknown", r.Unknown)
}

func describe(kind string, findings []Finding) string {
	const most = 5
	var b strings.Builder
	for _, f := range findings[:min(most, len(findings))] {
		fmt.Fprintf(&b, "\n%s: %s: %s", kind, f.ID, f.Detail)
	}
	if more := len(findings) - most; more > 0 {
		fmt.Fprintf(&b, "\n%s: and %d more", kind, more)
	}
	return b.String()
}
