package kafka

import (
	"fmt"
	"strings"
	"time"
)

// leastDeadLetterRetention is below what people need to look at a dead letter.
const leastDeadLetterRetention = 7 * 24 * time.Hour

// judge holds one existing topic against its spec: what breaks a promise is a
// problem, what only weakens one a warning. Both name topic, value and fix. That it
// has fewer partitions than main is neither: they can be added.
func judge(main, t Topic, s TopicSpec) (problems, warnings []string) {
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("topic %s: ", t.Name)+fmt.Sprintf(format, args...))
	}
	warn := func(format string, args ...any) {
		warnings = append(warnings, fmt.Sprintf("topic %s: ", t.Name)+fmt.Sprintf(format, args...))
	}
	if v := t.config["cleanup.policy"]; strings.Contains(v, "compact") {
		bad("cleanup.policy is %s, which deletes records of the same key: set cleanup.policy=delete", v)
	}
	if v := t.config["message.timestamp.type"]; v != "" && v != "CreateTime" {
		bad("message.timestamp.type is %s, which overwrites the time of the decision: set message.timestamp.type=CreateTime", v)
	}
	if v := t.config["retention.bytes"]; v != "" && v != "-1" {
		bad("retention.bytes is %s, which deletes records by size: set retention.bytes=-1", v)
	}
	if t.Partitions > main.Partitions {
		bad("it has %d partitions, %s has %d: a record keeps its partition number, so make the topic anew with %d partitions", t.Partitions, main.Name, main.Partitions, main.Partitions)
	}
	judgeRetention(t, s, bad, warn)
	if want := roomFor(main.MaxMessageBytes); t.MaxMessageBytes < want {
		warn("max.message.bytes is %d: a large record with its headers may not fit and is then dead-lettered or held; set max.message.bytes=%d", t.MaxMessageBytes, want)
	}
	return problems, warnings
}

func judgeRetention(t Topic, s TopicSpec, bad, warn func(string, ...any)) {
	ms := t.config["retention.ms"]
	have, limited := retention(ms)
	switch {
	case !limited:
	case s.Retention > 0 && have < s.Retention:
		bad("retention.ms is %s (%s), which may delete records that still wait: set retention.ms=%s or more, or -1", ms, have, retentionMillis(s.Retention))
	case s.Retention == 0 && have < leastDeadLetterRetention:
		bad("retention.ms is %s (%s), which deletes dead letters before people see them: set retention.ms=-1", ms, have)
	case s.Retention == 0:
		warn("retention.ms is %s (%s): older dead letters are deleted; set retention.ms=-1 to keep them", ms, have)
	}
}
