package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

const (
	none  = "none"  // the label value of "": without a class or a reason
	other = "other" // of what is in no closed set
)

// counters are the series of one closed set of label values, found without a
// label look-up. What is not in the set (a class that somebody else wrote into a
// header) counts as other, a series that appears when it is needed: foreign text
// must not become a label value.
type counters[K ~string] struct {
	known map[K]prometheus.Counter
	of    func(value string) prometheus.Counter
}

// newCounters creates the series of each value. of may be called at any time.
func newCounters[K ~string](set []K, of func(value string) prometheus.Counter) counters[K] {
	c := counters[K]{known: make(map[K]prometheus.Counter, len(set)), of: of}
	for _, v := range set {
		c.known[v] = of(text(v))
	}
	return c
}

func (c counters[K]) inc(v K) {
	if counter, ok := c.known[v]; ok {
		counter.Inc()
		return
	}
	c.of(other).Inc()
}

func text[K ~string](v K) string {
	if v == "" {
		return none
	}
	return string(v)
}

// Result says what came of a POST.
type Result string

// The results.
const (
	Delivered Result = "delivered" // the endpoint accepted the record
	Failed    Result = "failed"    // the record goes on to the next tier or the dead-letter topic
	Held      Result = "held"      // no attempt is spent: the record waits, where it is or as it is throttled, and makes the same one again
)

func results() []Result { return []Result{Delivered, Failed, Held} }

// ResultOf returns the result of a POST; held says that a failure spent no attempt.
func ResultOf(o *policy.Outcome, held bool) Result {
	switch {
	case o.Delivered():
		return Delivered
	case held:
		return Held
	}
	return Failed
}

// MetadataFault says why a commit's metadata was not used.
type MetadataFault string

// The faults.
const (
	MetadataCorrupt    MetadataFault = "corrupt"     // damaged, or of a version that is not known
	MetadataOtherTopic MetadataFault = "other_topic" // of a deleted topic of the same name
	MetadataBeyondEnd  MetadataFault = "beyond_end"  // it tells of offsets that do not exist
)

func metadataFaults() []MetadataFault {
	return []MetadataFault{MetadataCorrupt, MetadataOtherTopic, MetadataBeyondEnd}
}

// malformedHeaders is what may be wrong on a record of a tier: the headers that are
// read there, and the record's own timestamp. The configured event id headers
// count as other.
func malformedHeaders() []string {
	return append(stateHeaders(), record.HeaderEventID, "timestamp", other)
}

// ignoredHeaders is what retryd writes and therefore does not believe on main.
func ignoredHeaders() []string {
	return append(stateHeaders(),
		record.HeaderReason, record.HeaderResponse, record.HeaderRetrydVersion, record.HeaderAppVersion)
}

// words is with what an endpoint speaks, and may make no sense.
func words() []string {
	var headers []string
	for _, word := range policy.AllWords() {
		headers = append(headers, word.Header())
	}
	return headers
}

func stateHeaders() []string {
	return []string{
		record.HeaderAttempt, record.HeaderLimited, record.HeaderFirstFailureAt, record.HeaderNotBefore,
		record.HeaderTrace, record.HeaderLate,
		record.HeaderOriginTopic, record.HeaderOriginPartition, record.HeaderOriginOffset, record.HeaderOriginTimestamp,
		record.HeaderConsumer, record.HeaderClass, record.HeaderStatus, record.HeaderErrorKind, record.HeaderError,
		record.HeaderLastFailureAt,
	}
}
