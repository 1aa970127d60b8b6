package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/internal/tier"
)

// look holds one relay against the cluster, or what all relays share. It is used by one
// goroutine.
type look struct {
	cluster *kafka.Cluster
	cfg     *config.Config
	relay   tier.Config // zero: what all relays share
	acls    []ACL       // what that needs

	topics   Topics
	lacking  map[string]bool // topics and groups that are not accessible as needed
	findings []Finding
}

func (l *look) add(level Level, what, format string, args ...any) {
	l.findings = append(l.findings, Finding{level, l.relay.Name, what, fmt.Sprintf(format, args...)})
}

// step is one part of a look.
type step struct {
	what string
	do   func() error
}

// lookAtRelay holds one relay against the cluster.
func lookAtRelay(ctx context.Context, cluster *kafka.Cluster, cfg *config.Config, relay tier.Config) []Finding {
	l := look{cluster: cluster, cfg: cfg, relay: relay, acls: relayACLs(relay, cfg.Topics.Create)}
	return l.take(ctx, step{"topics", l.survey}, step{"access", l.access}, step{"topics", l.judgeTopics},
		step{"groups", l.groups}, step{"start", l.start})
}

// lookAtShared holds what all relays share against the cluster.
func lookAtShared(ctx context.Context, cluster *kafka.Cluster, cfg *config.Config) []Finding {
	l := look{cluster: cluster, cfg: cfg, acls: []ACL{controlACL(cfg.Topics)}}
	return l.take(ctx, step{"topics", l.surveyShared}, step{"access", l.access}, step{"topics", l.judgeTopics})
}

// take takes the steps one after the other, until the end of ctx. What a step cannot
// find out is a finding, and the last one if Kafka does not answer.
func (l *look) take(ctx context.Context, steps ...step) []Finding {
	for _, step := range steps {
		before := len(l.findings)
		var err error
		if ctx.Err() == nil {
			err = step.do()
		}
		if ctx.Err() != nil { // what the step found may be wrong: its questions had no answer
			l.findings = l.findings[:before]
			l.add(Fail, step.what, "not looked at: Kafka did not answer in time")
			break
		}
		if err == nil {
			continue
		}
		l.add(Fail, step.what, "%s", Explain(err))
		if kafka.Unreachable(err) || len(l.topics.Topics) == 0 {
			break // nothing else can be found out
		}
	}
	return l.findings
}

// survey only collects: what is hidden is better told by access.
func (l *look) survey() (err error) {
	l.topics, err = SurveyTopics(l.cluster, l.relay)
	return err
}

func (l *look) surveyShared() (err error) {
	l.topics, err = SurveyShared(l.cluster, l.cfg)
	return err
}

func (l *look) judgeTopics() error {
	var missing, growing, standing []string
	for _, t := range l.topics.Topics {
		switch {
		case t.Role == RoleRetired:
			l.retired(t)
			continue
		case t.State == StateMissing && t.Role != RoleMain:
			missing = append(missing, t.Name)
		case t.State == StateGrow:
			growing = append(growing, fmt.Sprintf("%s (has %d)", t.Name, t.Partitions))
		case t.State == StateOK:
			standing = append(standing, t.Name)
		}
		if t.State == StateHidden && l.lacking[t.Name] {
			continue // told by access
		}
		for _, problem := range t.Problems {
			l.add(Fail, "topics", "%s", problem)
		}
		for _, warning := range t.Warnings {
			l.add(Warn, "topics", "%s", warning)
		}
	}
	for _, warning := range l.topics.Warnings {
		l.add(Warn, "topics", "%s", warning)
	}
	l.planned(standing, missing, growing)
	return nil
}

// planned tells what there is, and what the daemon would do about the rest.
func (l *look) planned(standing, missing, growing []string) {
	wanted := l.topics.Topics[0].Wanted // main's partitions
	if len(standing) > 0 {
		l.add(OK, "topics", "as they should be: %s", strings.Join(standing, ", "))
	}
	if wanted == 0 {
		return // without main nothing is created
	}
	level, create, grow := OK, "will be created with %s: %s", "will get partitions, to have %d: %s"
	if !l.cfg.Topics.Create {
		level = Fail
		create = "missing, and topics.create is false; create with %s, or by retryd topics --create: %s"
		grow = "too few partitions, and topics.create is false; add partitions to have %d, or run retryd topics --create: %s"
	}
	if len(missing) > 0 {
		l.add(level, "topics", create, status.Count(wanted, "partition"), strings.Join(missing, ", "))
	}
	if len(growing) > 0 {
		l.add(level, "topics", grow, wanted, strings.Join(growing, ", "))
	}
}

func (l *look) retired(t Topic) {
	for _, warning := range t.Warnings {
		l.add(Warn, "topics", "%s", warning)
	}
	switch {
	case t.Deletable:
		l.add(OK, "topics", "%s belongs to no configured tier and is empty: delete it once no instance runs an earlier configuration", t.Name)
	case t.Left != nil:
		l.add(OK, "topics", "%s belongs to no configured tier and is still consumed, %s to go: delete it when it is empty", t.Name, status.Count(*t.Left, "record"))
	}
}

// groups tells whether retryd is running already.
func (l *look) groups() error {
	type member struct{ label, group string }
	var members []member
	if l.relay.Consume {
		members = append(members, member{"main", l.relay.Group})
	}
	for _, t := range l.relay.RetryTopics() {
		members = append(members, member{t.Role, t.Group})
	}
	var running []string
	for _, m := range members {
		if l.lacking[m.group] {
			continue
		}
		g, err := l.cluster.Group(m.group)
		switch {
		case err != nil:
			return err
		case g.Members > 0:
			running = append(running, fmt.Sprintf("%s: %d (%s)", m.label, g.Members, g.State))
		}
	}
	if len(running) > 0 {
		l.add(OK, "groups", "the relay is running; members: %s", strings.Join(running, ", "))
	} else {
		l.add(OK, "groups", "no members: the relay is not running")
	}
	return nil
}
