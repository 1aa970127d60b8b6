// Package inspect looks at a configuration, and at what it meets: what it means, what
// it needs of Kafka, and what is there.
//
// It returns plain values, which it does not print. It starts no relay, posts nothing,
// and changes nothing but by CreateTopics.
package inspect

import (
	"strings"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/tier"
)

// ACL is what retryd may do with one resource of Kafka, or with all whose names
// begin alike.
type ACL struct {
	Resource   Resource          `json:"resource"`
	Name       string            `json:"name"`
	Pattern    Pattern           `json:"pattern"`
	Operations []kafka.Operation `json:"operations"`
}

// Resource is a kind of thing that access is granted to, spelled as an option of
// kafka-acls.sh.
type Resource string

// The resources.
const (
	ResourceTopic Resource = "topic"
	ResourceGroup Resource = "group"
)

// Pattern says what a name stands for, spelled as a --resource-pattern-type of
// kafka-acls.sh (KIP-290).
type Pattern string

// The patterns.
const (
	Literal  Pattern = "literal"
	Prefixed Pattern = "prefixed"
)

// ACLs returns the least that retryd needs to run a configuration: one entry for
// each resource, in the order of the relays, then what all relays share.
//
// Describe is in none of them, since Read, Write and Alter imply it (the class
// AclOperation of Kafka): it is what looking at topics, offsets and groups takes.
// Nor is a right on the cluster: since Kafka 3.0 an idempotent producer needs no
// more than Write on some topic (KIP-679), and topics are created by the right to
// create those of that name.
func ACLs(cfg *config.Config) []ACL {
	var acls []ACL
	for _, relay := range cfg.Relays {
		acls = append(acls, relayACLs(relay, cfg.Topics.Create)...)
	}
	return append(acls, controlACL(cfg.Topics))
}

func controlACL(t kafka.TopicsConfig) ACL {
	operations := []kafka.Operation{kafka.Read, kafka.Write, kafka.DescribeConfigs}
	if t.Create {
		operations = append(operations, kafka.Create)
	}
	return ACL{ResourceTopic, t.Control, Literal, operations}
}

func relayACLs(relay tier.Config, create bool) []ACL {
	return append(topicACLs(relay, create), groupACLs(relay)...)
}

func topicACLs(relay tier.Config, create bool) []ACL {
	main := []kafka.Operation{kafka.Read, kafka.DescribeConfigs}
	if !relay.Consume { // only its partitions and its limits are copied
		main = []kafka.Operation{kafka.Describe, kafka.DescribeConfigs}
	}
	written := []kafka.Operation{kafka.Write, kafka.DescribeConfigs}
	if create {
		written = append(written, kafka.Create, kafka.Alter)
	}
	live := append([]kafka.Operation{kafka.Read}, written...)

	acls := []ACL{{ResourceTopic, relay.Topic, Literal, main}}
	// One pattern for all tiers named alike: those of an earlier, longer schedule are
	// still consumed, so Read is needed where no tier of today has such a name.
	named := relay.Prefix + ".retry."
	alike := ACL{ResourceTopic, named, Prefixed, []kafka.Operation{kafka.Read}}
	var others []ACL
	for _, t := range relay.RetryTopics() {
		if strings.HasPrefix(t.Name, named) {
			alike.Operations = live
			continue
		}
		others = append(others, ACL{ResourceTopic, t.Name, Literal, live})
	}
	acls = append(append(acls, alike), others...)
	for _, t := range relay.DeadLetterTopics() {
		acls = append(acls, ACL{ResourceTopic, t.Name, Literal, written})
	}
	return acls
}

func groupACLs(relay tier.Config) []ACL {
	var acls []ACL
	read := []kafka.Operation{kafka.Read}
	if relay.Consume {
		acls = append(acls, ACL{ResourceGroup, relay.Group, Literal, read})
	}
	return append(acls, ACL{ResourceGroup, relay.TierGroup(""), Prefixed, read})
}
