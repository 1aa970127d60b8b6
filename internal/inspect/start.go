package inspect

import "github.com/retryd/retryd/internal/tier"

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
			l.relay.Group, l.relay.Topic, plural(first.Total, "record"))
	case first.Total == 0:
		l.add(OK, "start", "topic %s is empty: nothing to be read at first", l.relay.Topic)
	default:
		l.add(OK, "start", "group %s is new: with start: %s it reads about %d of the %s that topic %s holds",
			l.relay.Group, l.relay.Start, first.Records, plural(first.Total, "record"), l.relay.Topic)
	}
	return l.otherGroup()
}

// otherGroup warns of records in the tiers of a group that has not begun: they were
// probably put there under another name of the group, and would be skipped.
func (l *look) otherGroup() error {
	tiers := map[string][]int32{}
	for _, t := range l.topics.Topics {
		for p := range t.Partitions {
			if t.Role == RoleTier {
				tiers[t.Name] = append(tiers[t.Name], p)
			}
		}
	}
	if len(tiers) == 0 {
		return nil
	}
	begins, err := l.cluster.Begins(tiers)
	if err != nil {
		return err
	}
	ends, err := l.cluster.Ends(tiers)
	if err != nil {
		return err
	}
	var held int64
	for topic, partitions := range ends {
		for p, end := range partitions {
			held += max(0, end-begins[topic][p])
		}
	}
	if held > 0 {
		l.add(Warn, "start", "group %s is new, but the retry topics hold %s: if the relay had another group before, they are skipped; go back to that group, let the retry topics drain, then change it",
			l.relay.Group, plural(held, "record"))
	}
	return nil
}
