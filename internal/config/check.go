package config

import (
	"fmt"

	"github.com/retryd/retryd/internal/kafka"
)

// stopMargin is what a clean stop needs after the last attempt has ended: to
// forward its record and to commit.
const stopMargin = kafka.ForwardTimeout + kafka.CommitTimeout

// check reports what the packages find, and what concerns several of them.
func (l *loader) check(c *Config) {
	l.reportAll("kafka.", c.Kafka.Validate())
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
		l.checkDerived(prefix)
		l.reportAll(prefix, relay.Validate())
	}
	l.checkStopTimeout(c)
	l.checkSharing(c.Relays)
}

// checkDerived reports names that are given as empty text. They would silently
// take their defaults, and a group that changes starts over.
func (l *loader) checkDerived(prefix string) {
	keys := []string{"name", "group", "prefix", "dlt.topic"}
	tiers, _ := l.root.find(prefix + "tiers").valueOf().(list)
	for i := range tiers {
		keys = append(keys, fmt.Sprintf("tiers[%d].topic", i))
	}
	for _, key := range keys {
		if l.root.find(prefix+key).valueOf() == "" {
			l.report(prefix+key, "is empty; leave the key out for its default")
			l.cover(prefix + key)
		}
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
	key := "stop_timeout"
	if l.root.find(key) == nil {
		key = fmt.Sprintf("relays[%d].endpoint.timeout", slowest)
	}
	l.report(key, "stop_timeout (%v) must be more than %v: the endpoint timeout of relay %s (%v) and %v to forward and commit",
		c.StopTimeout, timeout+stopMargin, c.Relays[slowest].Name, timeout, stopMargin)
}
