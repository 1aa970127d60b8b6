package config

import (
	"fmt"
	"slices"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/tier"
)

// claim is a name that must belong to one role of one relay.
type claim struct {
	kind  string // topic, group or name: names of different kinds may be equal
	value string
	role  string // what the relay uses it for
	key   string // the key to change, relative to the relay
}

// owner is who has claimed a name.
type owner struct {
	relay int
	role  string
	key   string // as in claim
}

// checkSharing reports names that two relays, or two roles of one relay, have in
// common. Two relays that share a topic would take each other's records.
func (l *loader) checkSharing(relays []tier.Config) {
	type blame struct {
		relay, other int
		key          string
	}
	owners := map[claim]owner{}
	blamed := map[blame]bool{}
	clashing := map[[2]int]bool{} // relays of which one has been blamed already
	for i, relay := range relays {
		for _, c := range l.claims(i, relay) {
			id := claim{kind: c.kind, value: c.value}
			first, taken := owners[id]
			if !taken {
				owners[id] = owner{i, c.role, c.key}
				continue
			}
			// One key may make several names; its first clash says what to change.
			if b := (blame{i, first.relay, c.key}); !blamed[b] {
				blamed[b] = true
				clashing[[2]int{i, first.relay}], clashing[[2]int{first.relay, i}] = true, true
				l.report(fmt.Sprintf("relays[%d].%s", i, c.key), "%s", clash(c, i, first.relay, first.role, relays))
			}
		}
	}
	l.checkRetired(relays, owners, clashing)
}

// checkRetired reports topics that another relay would consume because they are
// named like a tier of its own: it may have had more of them once.
func (l *loader) checkRetired(relays []tier.Config, owners map[claim]owner, clashing map[[2]int]bool) {
	for i, relay := range relays {
		if relay.Topic == "" {
			continue
		}
		for step := 1; step <= policy.MaxSteps; step++ {
			topic := policy.Tiers{}.Topic(relay.Prefix, step)
			first, taken := owners[claim{kind: "topic", value: topic}]
			if taken && first.relay != i && !clashing[[2]int{i, first.relay}] {
				l.report(fmt.Sprintf("relays[%d].%s", first.relay, first.key),
					"topic %q (%s of relay %s) is named like a tier of relay %s (relays[%d]), which would consume it as one; choose another name",
					topic, first.role, relays[first.relay].Name, relay.Name, i)
			}
		}
	}
}

// checkControl reports the names of relays' topics that are the control topic's, also of
// tiers that a relay may have had once: it would consume it as one.
func (l *loader) checkControl(control string, relays []tier.Config) {
	for i, relay := range relays {
		for _, c := range l.claims(i, relay) {
			if c.kind == "topic" && c.value == control {
				l.report(fmt.Sprintf("relays[%d].%s", i, c.key),
					"topic %q (%s of relay %s) is topics.control, which says what relays are paused; choose another name", control, c.role, relay.Name)
			}
		}
		if slices.Contains(relay.RetiredTopics(), control) {
			l.report("topics.control", "topic %q is named like a tier of relay %s (relays[%d]), which would consume it as one; choose another name", control, relay.Name, i)
		}
	}
}

func clash(c claim, i, other int, role string, relays []tier.Config) string {
	switch {
	case i == other:
		return fmt.Sprintf("this relay uses %s %q twice (%s and %s); give each a %s of its own", c.kind, c.value, role, c.role, c.kind)
	case c.kind == "name":
		return fmt.Sprintf("relays[%d] is named %q too; give each relay a name of its own", other, c.value)
	}
	return fmt.Sprintf("%s %q belongs to relay %s (%s) and to relay %s (relays[%d], %s); relays must not share a %s",
		c.kind, c.value, relays[i].Name, c.role, relays[other].Name, other, role, c.kind)
}

// claims lists the names of a relay, each with the key that an operator would
// change: the one that is set, of those that it derives from. A relay without a
// topic has none.
func (l *loader) claims(i int, relay tier.Config) []claim {
	if relay.Topic == "" {
		return nil
	}
	source := func(keys ...string) string {
		for _, key := range keys {
			if l.root.find(fmt.Sprintf("relays[%d].%s", i, key)) != nil {
				return key
			}
		}
		return "topic"
	}
	all := []claim{
		{"topic", relay.Topic, "main", "topic"},
		{"name", relay.Name, "name", source("name")},
		{"group", relay.Group, "main", source("group", "name")},
	}
	groups := map[string]bool{}
	for _, t := range relay.RetryTopics() {
		all = append(all, claim{"topic", t.Name, t.Role, source(t.Key, "prefix")})
		// Tiers of one relay that share a topic share its group: said once is enough.
		if !groups[t.Group] {
			groups[t.Group] = true
			all = append(all, claim{"group", t.Group, t.Role, source("group", "name")})
		}
	}
	for _, t := range relay.DeadLetterTopics() {
		all = append(all, claim{"topic", t.Name, t.Role, source(t.Key, "prefix")})
	}
	return all
}
