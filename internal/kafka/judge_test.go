package kafka

import (
	"math"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
)

const day = 24 * time.Hour

func TestJudgeNamesTopicValueAndFix(t *testing.T) {
	tier, deadLetters := TopicSpec{Name: "t", Retention: 7 * day}, TopicSpec{Name: "t"}
	const mainLimit = 1 << 20
	tests := []struct {
		name       string
		spec       TopicSpec
		partitions int32
		limit      int
		config     map[string]string
		problems   []string
		warnings   []string
	}{
		{name: "as it would be created", spec: tier, config: map[string]string{
			"cleanup.policy": "delete", "message.timestamp.type": "CreateTime", "retention.ms": "604800000", "retention.bytes": "-1",
		}},
		{name: "a cluster that names no configuration", spec: tier},
		{name: "kept for ever", spec: tier, config: map[string]string{"retention.ms": "-1"}},
		{name: "kept for longer than a duration can say", spec: tier, config: map[string]string{"retention.ms": "9223372036854775807"}},
		{name: "compacted", spec: tier, config: map[string]string{"cleanup.policy": "compact,delete"},
			problems: []string{"topic t: cleanup.policy is compact,delete, which deletes records of the same key: set cleanup.policy=delete"}},
		{name: "timestamps of the broker", spec: tier, config: map[string]string{"message.timestamp.type": "LogAppendTime"},
			problems: []string{"topic t: message.timestamp.type is LogAppendTime, which overwrites the time of the decision: set message.timestamp.type=CreateTime"}},
		{name: "bounded in bytes", spec: tier, config: map[string]string{"retention.bytes": "1073741824"},
			problems: []string{"topic t: retention.bytes is 1073741824, which deletes records by size: set retention.bytes=-1"}},
		{name: "fewer partitions, which can be added", spec: tier, partitions: 2},
		{name: "more partitions", spec: tier, partitions: 4,
			problems: []string{"topic t: it has 4 partitions, m has 3: a record keeps its partition number, so make the topic anew with 3 partitions"}},
		{name: "tier kept too briefly", spec: tier, config: map[string]string{"retention.ms": "604799999"},
			problems: []string{"topic t: retention.ms is 604799999 (167h59m59.999s), which may delete records that still wait: set retention.ms=604800000 or more, or -1"}},
		{name: "dead letters kept very briefly", spec: deadLetters, config: map[string]string{"retention.ms": "3600000"},
			problems: []string{"topic t: retention.ms is 3600000 (1h0m0s), which deletes dead letters before people see them: set retention.ms=-1"}},
		{name: "dead letters kept for a week", spec: deadLetters, config: map[string]string{"retention.ms": "604800000"},
			warnings: []string{"topic t: retention.ms is 604800000 (168h0m0s): older dead letters are deleted; set retention.ms=-1 to keep them"}},
		{name: "smaller records than headers need", spec: tier, limit: mainLimit + 1,
			warnings: []string{"topic t: max.message.bytes is 1048577: a large record with its headers may not fit and is then dead-lettered or held; set max.message.bytes=1114112"}},
		{name: "everything at once", spec: tier, partitions: 4, limit: 1, config: map[string]string{
			"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime", "retention.ms": "0", "retention.bytes": "0",
		}, problems: []string{
			"topic t: cleanup.policy is compact, which deletes records of the same key: set cleanup.policy=delete",
			"topic t: message.timestamp.type is LogAppendTime, which overwrites the time of the decision: set message.timestamp.type=CreateTime",
			"topic t: retention.bytes is 0, which deletes records by size: set retention.bytes=-1",
			"topic t: it has 4 partitions, m has 3: a record keeps its partition number, so make the topic anew with 3 partitions",
			"topic t: retention.ms is 0 (0s), which may delete records that still wait: set retention.ms=604800000 or more, or -1",
		}, warnings: []string{
			"topic t: max.message.bytes is 1: a large record with its headers may not fit and is then dead-lettered or held; set max.message.bytes=1114112",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			main := Topic{Name: "m", Partitions: 3, MaxMessageBytes: mainLimit}
			existing := Topic{Name: "t", Partitions: 3, MaxMessageBytes: mainLimit + headroom, config: tt.config}
			if tt.partitions != 0 {
				existing.Partitions = tt.partitions
			}
			if tt.limit != 0 {
				existing.MaxMessageBytes = tt.limit
			}
			problems, warnings := judge(main, existing, tt.spec)
			if diff := cmp.Diff(tt.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// A main topic may take the largest records that Kafka can express.
func TestRoomForNeverLeavesKafkasRange(t *testing.T) {
	tests := []struct {
		name       string
		main, want int
	}{
		{"default", defaultMessageBytes, defaultMessageBytes + 65536},
		{"largest", math.MaxInt32, math.MaxInt32},
		{"near the largest", math.MaxInt32 - 1, math.MaxInt32},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := roomFor(tt.main); got != tt.want {
				t.Errorf("room for %d is %d, want %d", tt.main, got, tt.want)
			}
		})
	}
}

func TestRetention(t *testing.T) {
	tests := []struct {
		name    string
		config  map[string]string
		keeps   time.Duration
		limited bool
	}{
		{"a week", map[string]string{"retention.ms": "604800000", "cleanup.policy": "delete"}, 7 * day, true},
		{"compacted, too", map[string]string{"retention.ms": "604800000", "cleanup.policy": "compact,delete"}, 7 * day, true},
		{"only compacted", map[string]string{"retention.ms": "604800000", "cleanup.policy": "compact"}, 0, false},
		{"a policy that is not told", map[string]string{"retention.ms": "1000"}, time.Second, true},
		{"for ever", map[string]string{"retention.ms": "-1"}, 0, false},
		{"not told", nil, 0, false},
		{"longer than a duration can say", map[string]string{"retention.ms": "9223372036854775807"}, time.Duration(math.MaxInt64).Truncate(time.Millisecond), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var entries []sarama.ConfigEntry
			for name, value := range tt.config {
				entries = append(entries, sarama.ConfigEntry{Name: name, Value: value})
			}
			if keeps, limited := withConfig(Topic{}, entries).Retention(); keeps != tt.keeps || limited != tt.limited {
				t.Errorf("%v, %v; want %v, %v", keeps, limited, tt.keeps, tt.limited)
			}
		})
	}
}
