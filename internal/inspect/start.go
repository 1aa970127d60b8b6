package inspect

import (
	"strings"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/internal/tier"
)

// start tells what the relay's groups would read first.
func (l *look) start() error {
	if l.relay.Consume {
		if err := l.startOfMain(); err != nil {
			return err
		}
	}
	return l.otherGroup()
}

func (l *look) startOfMain() error {
	main := l.topics.Topics[0]
	if main.State == StateMissing || main.State == StateHidden || l.lacking[l.relay.Group] {
		return nil
	}
	first, err := tier.FirstStart(l.cluster, l.relay)
	if err != nil {
		return err
	}
	switch {
	case first.Committed:
		l.add(OK, "start", "the group %s goes on behind its committed offsets", l.relay.Group)
	case first.Needed:
		l.add(Fail, "start", "group %s is new and topic %s holds about %s: set start: earliest to deliver them, latest to skip them, or a time (RFC 3339)",
			l.relay.Group, l.relay.Topic, status.Count(first.Total, "record"))
	case first.Total == 0:
		l.add(OK, "start", "topic %s is empty: nothing to be read at first", l.relay.Topic)
	default:
		l.add(OK, "start", "group %s is new: with start: %s it reads about %d of the %s that topic %s holds",
			l.relay.Group, l.relay.Start, first.Records, status.Count(first.Total, "record"), l.relay.Topic)
	}
	return nil
}

// otherGroup warns of records in tiers whose groups have not begun: they were probably
// put there under another name of the relay's group, and would be skipped. A relay that
// runs commits in all its tiers at once, so that a new tier is none of those for long.
func (l *look) otherGroup() error {
	var held int64
	var fresh []string
	for _, t := range l.topics.Topics {
		group := l.relay.TierGroup(t.Name)
		if t.Role != RoleTier && t.Role != RolePark || t.Partitions == 0 || l.lacking[group] {
			continue
		}
		left, begun, err := unread(l.cluster, group, kafka.Topic{Name: t.Name, Partitions: t.Partitions})
		switch {
		case err != nil:
			return err
		case !begun && left > 0:
			held += left
			fresh = append(fresh, t.Name)
		}
	}
	if held > 0 {
		l.add(Warn, "start", "group %s has never read from %s (%s): if the relay had another group before, what that one has not completed is skipped; go back to that group, let the retry topics drain, then change it",
			l.relay.Group, strings.Join(fresh, ", "), status.Count(held, "record"))
	}
	return nil
}
