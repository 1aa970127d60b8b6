package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/status"
)

// writeTopics shows a table for each relay, and one for all of them, and below it what does not fit in one.
func writeTopics(w io.Writer, relays []inspect.Topics, cfg *config.Config, create bool) {
	for i, relay := range relays {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if relay.Relay == "" {
			fmt.Fprintln(w, "all relays")
		} else {
			fmt.Fprintf(w, "relay %s\n", relay.Relay)
		}
		table(w, func(w io.Writer) {
			fmt.Fprintln(w, "  TOPIC\tROLE\tPARTITIONS\tMUST KEEP\tSTATE")
			for _, t := range relay.Topics {
				fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", t.Name, roleText(t), partitionsText(t), keepsText(t), stateText(t))
			}
		})
		writeRemarks(w, relay, cfg)
	}
	if !create && missesSomething(relays) {
		fmt.Fprintln(w)
		paragraph(w, missingText(cfg.Topics.Create))
	}
}

// writeRemarks prints what does not fit a table.
func writeRemarks(w io.Writer, relay inspect.Topics, cfg *config.Config) {
	for _, c := range relay.Changes {
		if c.From == 0 {
			paragraph(w, fmt.Sprintf("created: topic %s with %s", c.Topic, status.Count(c.To, "partition")))
			continue
		}
		paragraph(w, fmt.Sprintf("changed: topic %s had %s and has %d now", c.Topic, status.Count(c.From, "partition"), c.To))
	}
	remark := func(what string, texts []string) {
		for _, text := range texts {
			paragraph(w, what+": "+text)
		}
	}
	remark("problem", relay.Problems)
	for _, t := range relay.Topics {
		remark("problem", t.Problems)
	}
	remark("warning", relay.Warnings)
	for _, t := range relay.Topics {
		remark("warning", t.Warnings)
		if t.Deletable {
			paragraph(w, fmt.Sprintf("retired: topic %s holds nothing any more. Once no instance runs an earlier configuration it may be deleted:", t.Name))
			fmt.Fprintf(w, "    kafka-topics.sh --bootstrap-server %s --delete --topic %s\n", strings.Join(cfg.Kafka.Brokers, ","), t.Name)
		}
	}
}

func roleText(t inspect.Topic) string {
	switch t.Role {
	case inspect.RoleTier:
		return "tier " + t.Tier
	case inspect.RolePark:
		return t.Tier
	case inspect.RoleRetired:
		return "retired tier"
	case inspect.RoleDLT:
		return "dead letters"
	}
	return string(t.Role)
}

// partitionsText shows how many there are, or would be.
func partitionsText(t inspect.Topic) string {
	if n := max(t.Partitions, t.Wanted); n > 0 {
		return fmt.Sprint(n)
	}
	return "-"
}

// keepsText shows for how long records must be kept; those of main and of retired tiers
// are kept as long as one likes.
func keepsText(t inspect.Topic) string {
	switch {
	case t.Role.Ends() || t.Role == inspect.RoleControl:
		return "for ever"
	case t.Keeps != nil:
		return age(time.Duration(*t.Keeps)) + " or more"
	}
	return "-"
}

func stateText(t inspect.Topic) string {
	switch {
	case t.Deletable:
		return "nothing left"
	case t.Left != nil:
		return status.Count(*t.Left, "record") + " left"
	case t.State == inspect.StateGrow:
		return fmt.Sprintf("%s to add", status.Count(t.Wanted-t.Partitions, "partition"))
	case t.State == inspect.StateHidden:
		return "may not be looked at"
	}
	return string(t.State)
}

// missesSomething reports whether --create would do something.
func missesSomething(relays []inspect.Topics) bool {
	for _, relay := range relays {
		for _, t := range relay.Topics {
			creatable := t.Role != inspect.RoleMain && t.Wanted > 0
			if creatable && (t.State == inspect.StateMissing || t.State == inspect.StateGrow) {
				return true
			}
		}
	}
	return false
}

func missingText(create bool) string {
	if create {
		return "Nothing was changed. The daemon creates what is missing when it starts; --create does so now."
	}
	return "Nothing was changed. With topics.create: false the daemon creates nothing; --create does so now."
}
