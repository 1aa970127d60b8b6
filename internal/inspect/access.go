package inspect

import (
	"slices"
	"strings"

	"github.com/retryd/retryd/internal/kafka"
)

// access holds what this client may do against what the relay needs. That a cluster
// does not tell is no failure: what is denied shows in the other steps.
func (l *look) access() error {
	l.lacking = map[string]bool{}
	before := len(l.findings)
	err := l.topicAccess(l.acls)
	if err == nil {
		err = l.groupAccess(l.acls)
	}
	switch {
	case kafka.Unreachable(err):
		return err
	case err != nil:
		l.add(Warn, "access", "%s", Explain(err))
	case len(l.findings) == before && l.relay.Name == "":
		l.add(OK, "access", "everything is granted on topic %s", l.cfg.Topics.Control)
	case len(l.findings) == before:
		l.add(OK, "access", "everything that the relay needs is granted")
	}
	return nil
}

func (l *look) topicAccess(acls []ACL) error {
	var names []string
	for _, t := range l.topics.Topics {
		names = append(names, t.Name)
	}
	granted, err := l.cluster.TopicAccess(names...)
	if err != nil {
		return err
	}
	for _, t := range l.topics.Topics {
		missing := without(needs(acls, ResourceTopic, t), granted[t.Name])
		if slices.Contains(missing, kafka.Create) && l.mayCreateAny() {
			missing = without(missing, []kafka.Operation{kafka.Create})
		}
		l.lacks(ResourceTopic, t.Name, missing)
	}
	return nil
}

// mayCreateAny reports whether the cluster lets this client create any topic. Where
// it does not say, it does not.
func (l *look) mayCreateAny() bool {
	allowed, err := l.cluster.ClusterAccess()
	return err == nil && slices.Contains(allowed, kafka.Create)
}

func (l *look) groupAccess(acls []ACL) error {
	var names []string
	if l.relay.Consume {
		names = append(names, l.relay.Group)
	}
	for _, t := range l.relay.RetryTopics() {
		names = append(names, t.Group)
	}
	if len(names) == 0 {
		return nil
	}
	granted, err := l.cluster.GroupAccess(names...)
	if err != nil {
		return err
	}
	for _, name := range names {
		l.lacks(ResourceGroup, name, without(needed(acls, ResourceGroup, name), granted[name]))
	}
	return nil
}

// lacks adds a failure if operations are missing, with the way to grant them.
func (l *look) lacks(resource Resource, name string, missing []kafka.Operation) {
	if len(missing) == 0 {
		return
	}
	l.lacking[name] = true
	var words []string
	for _, op := range missing {
		words = append(words, string(op))
	}
	acl := ACL{resource, name, Literal, missing}
	l.add(Fail, "access", "%s on %s %s is not granted: %s (retryd topics --acls prints all)",
		strings.Join(words, ", "), resource, name, acl.Command(strings.Join(l.cfg.Kafka.Brokers, ","), "TYPE:NAME"))
}

// needs returns what has to be granted on a topic as it is now: Create and Alter only
// where something is to be created.
func needs(acls []ACL, resource Resource, t Topic) []kafka.Operation {
	if t.Role == RoleRetired {
		return []kafka.Operation{kafka.Read}
	}
	return slices.DeleteFunc(needed(acls, resource, t.Name), func(op kafka.Operation) bool {
		return op == kafka.Create && t.State != StateMissing || op == kafka.Alter && t.State != StateGrow
	})
}

// needed returns the operations of the ACLs that cover a name.
func needed(acls []ACL, resource Resource, name string) []kafka.Operation {
	var ops []kafka.Operation
	for _, a := range acls {
		if a.Resource == resource && (a.Name == name || a.Pattern == Prefixed && strings.HasPrefix(name, a.Name)) {
			ops = append(ops, without(a.Operations, ops)...)
		}
	}
	return ops
}

// without returns the operations of all that are not among some.
func without(all, some []kafka.Operation) []kafka.Operation {
	return slices.DeleteFunc(slices.Clone(all), func(op kafka.Operation) bool { return slices.Contains(some, op) })
}
