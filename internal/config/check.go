package config

import (
	"fmt"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/tier"
)

// stopMargin is what a clean stop needs after the last attempt has ended: to
// forward its record and to commit.
const stopMargin = kafka.ForwardTimeout + kafka.CommitTimeout

// check reports what the packages find, and what concerns several of them.
func (l *loader) check(c *Config) {
	l.reportAll("kafka.", c.Kafka.Validate())
	l.reportAll("redact.", c.Redact.Validate())
	l.reportAll("topics.", c.Topics.Validate())
	l.reportAll("window.", c.Window.Validate())
	l.reportAll("admin.", c.Admin.Validate())
	l.reportAll("log.", c.Log.Validate())
	if c.StateDir != "" {
		l.report("state_dir", "must be empty: this version keeps nothing on disk")
	}
	if len(c.Relays) == 0 {
		l.report("relays", "missing: a relay names a topic and the endpoint that handles its records")
	}
	for i, relay := range c.Relays {
		prefix := fmt.Sprintf("relays[%d].", i)
		l.checkDerived(prefix, relay)
		l.checkName(prefix, relay)
		l.reportAll(prefix, relay.Validate())
	}
	l.checkStopTimeout(c)
	l.checkSharing(c.Relays)
	l.checkControl(c.Topics.Control, c.Relays)
}

// checkDerived reports names that are given as empty text. They would silently
// take their defaults, and a group that changes starts over.
func (l *loader) checkDerived(prefix string, relay tier.Config) {
	keys := []string{"name", "group", "prefix", "dlt.topic"}
	if relay.Review.Enabled { // else it has no name
		keys = append(keys, "review.topic")
	}
	for of, name := range map[string]string{"tiers": "topic", "park": "topic", "endpoint.rules": "dlt"} {
		entries, _ := l.root.find(prefix + of).valueOf().(list)
		for i := range entries {
			keys = append(keys, fmt.Sprintf("%s[%d].%s", of, i, name))
		}
	}
	for _, key := range keys {
		if l.root.find(prefix+key).valueOf() == "" {
			l.report(prefix+key, "is empty; leave the key out for its default")
			l.cover(prefix + key)
		}
	}
}

// maxName bounds a relay's name, in characters. Name and group are one header,
// x-consumer, which is read back only below 512 bytes.
const maxName = 249

// checkName leaves out a name that is the topic's, whose length is checked there.
func (l *loader) checkName(prefix string, relay tier.Config) {
	if relay.Name != relay.Topic && len(relay.Name) > maxName {
		l.report(prefix+"name", "has %d characters; a name has at most %d", len(relay.Name), maxName)
	}
}

// checkStopTimeout blames the key that is set, and names the relay that needs the
// most: what suffices for it suffices for all.
func (l *loader) checkStopTimeout(c *Config) {
	slowest := -1
	for i, relay := range c.Relays {
		if slowest < 0 || relay.Endpoint.Timeout > c.Relays[slowest].Endpoint.Timeout {
			slowest = i
		}
	}
	if slowest < 0 {
		return
	}
	timeout := c.Relays[slowest].Endpoint.Timeout
	if c.StopTimeout > timeout+stopMargin {
		return
	}
	needs := fmt.Sprintf("must be more than %v: the endpoint timeout of relay %s (%v) and %v to forward and commit",
		timeout+stopMargin, c.Relays[slowest].Name, timeout, stopMargin)
	if l.root.find("stop_timeout") != nil {
		l.report("stop_timeout", "is %v, %s", c.StopTimeout, needs)
		return
	}
	l.report(fmt.Sprintf("relays[%d].endpoint.timeout", slowest), "stop_timeout (%v) %s; raise stop_timeout or lower this", c.StopTimeout, needs)
}
