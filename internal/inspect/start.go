package inspect

import (
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/internal/tier"
)

// start tells what the group on the main topic would read first.
func (l *look) start() error {
	main := l.topics.Topics[0]
	readable := main.State != StateMissing && main.State != StateHidden
	if !l.relay.Consume || !readable || l.lacking[l.relay.Group] {
		return nil
	}
	first, err := tier.FirstStart(l.cluster, l.relay)
	if err != nil {
		return err
	}
	switch {
	case first.Committed:
		l.add(OK, "start", "the group %s goes on behind its committed offsets", l.relay.Group)
		return nil
	case first.Needed:
		l.add(Fail, "start", "group %s is new and topic %s holds about %s: set start: earliest to deliver them, latest to skip them, or a time (RFC 3339)",
			l.relay.Group, l.relay.Topic, status.Count(first.Total, "record"))
	case first.Total == 0:
		l.add(OK, "start", "topic %s is empty: nothing to be read at first", l.relay.Topic)
	default:
		l.add(OK, "start", "group %s is new: with start: %s it reads about %d of the %s that topic %s holds",
			l.relay.Group, l.relay.Start, first.Records, status.Count(first.Total, "record"), l.relay.Topic)
	}
	return l.otherGroup()
}

// otherGroup warns of records in the tiers of a group that has not begun: they were
// probably put there under another name of the group, and would be skipped. What the
// group itself has completed is none of them.
func (l *look) otherGroup() error {
	var held int64
	for _, t := range l.topics.Topics {
		group := l.relay.TierGroup(t.Name)
		if t.Role != RoleTier || t.Partitions == 0 || l.lacking[group] {
			continue
		}
		left, err := unread(l.cluster, group, kafka.Topic{Name: t.Name, Partitions: t.Partitions})
		if err != nil {
			return err
		}
		held += left
	}
	if held > 0 {
		l.add(Warn, "start", "group %s is new, but the retry topics hold %s that it has not completed: if the relay had another group before, what that one has not completed is skipped; go back to that group, let the retry topics drain, then change it",
			l.relay.Group, status.Count(held, "record"))
	}
	return nil
}
