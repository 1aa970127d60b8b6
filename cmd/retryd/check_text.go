package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/window"
)

// writeDescription explains a configuration to a person.
func writeDescription(w io.Writer, path string, d inspect.Description) {
	fmt.Fprintf(w, "%s has no problems.\n", path)
	for _, relay := range d.Relays {
		fmt.Fprintf(w, "\nRelay %s\n", relay.Name)
		writeRelay(w, relay)
	}
	writeSharedAnswers(w, d.Relays)
	fmt.Fprintln(w, "\nHow to read it")
	facts{
		{"earliest", "the shortest waits, and answers at once"},
		{"latest", "the longest waits, and endpoint.timeout for each answer; it gets later while the relay pauses or retryd does not run"},
		{"outage", "while an endpoint is down, or wrong, nothing is delivered, and no attempt is spent, unless guard says otherwise; docs/policy.md says what is taken for an outage"},
		{"rejected", "404, 405 and 415 are the endpoint's fault, unless it accepts other records meanwhile: then the second such answer makes a dead letter"},
	}.write(w)
	fmt.Fprintln(w, "\nEach instance of retryd")
	facts{
		{"requests", fmt.Sprintf("%s at a time at most, over all relays", thousands(d.MaxInFlight))},
		{"memory", fmt.Sprintf("%s of waiting records (window.bytes), at worst twice that; more waits in Kafka", window.ByteSize(d.WindowBytes))},
	}.write(w)
}

func writeRelay(w io.Writer, r inspect.RelayDescription) {
	f := facts{
		{"endpoint", fmt.Sprintf("POST %s; each takes %s at most, %s at a time", r.Endpoint, short(r.Timeout), thousands(r.MaxInFlight))},
		{"accepts", acceptWords(r)},
		{"own word", ownWord(r)},
		{"guard", guardWords(r.Guard)},
		{"start", startWords(r)},
		{"groups", groupWords(r)},
		{"ordering", r.Ordering + ": " + r.OrderingMeans},
		{"cost", costWords(r)},
	}
	if r.InPlace.Posts > 1 {
		f = append(f, [2]string{"in place", fmt.Sprintf("attempt 1 takes up to %d requests, %s apart, before a record goes to a tier; cost and schedule leave out all but one", r.InPlace.Posts, short(r.InPlace.Delay))})
	}
	if len(r.Park) > 0 {
		f = append(f, [2]string{"long waits", parkWords(r.Park)})
	}
	if r.Review != nil {
		f = append(f, [2]string{"review", "what a person has to look at, such as a conflict (409, 412), goes to " + r.Review.Topic + ", not to the dead letters"})
	}
	from := "its first failure"
	if !r.Consume && len(r.Attempts) > 1 {
		f = append(f, [2]string{"headers", headerWords})
		from = "its failure in attempt 2, retryd's first"
	}
	f.write(w)
	if r.OwnAnswers() {
		fmt.Fprintf(w, "\n  %s; the first line that fits counts:\n", answersTitle)
		writeAnswers(w, r.Answers)
	}
	fmt.Fprintf(w, "\n  A record that fails in every attempt, counted from %s:\n", from)
	writeSchedule(w, r)
	if why := endings(r); len(why) > 0 {
		fmt.Fprintln(w, "\n  Why it ends (x-reason of the dead letter), unless an answer says so at once:")
		why.write(w)
	}
}

// headerWords is for applications that write into the tiers.
const headerWords = `your application may write x-not-before (else a record is due when the
tier's delay has passed since its timestamp, without jitter), x-first-failure-at (else budget and
lifetime count from the first failure at retryd), both in epoch milliseconds, x-attempt and x-limited
(else the tier's number, and 0), and x-event-id`

func acceptWords(r inspect.RelayDescription) string {
	switch {
	case len(r.Success) > 0:
		return "status " + list(r.Success) + " (endpoint.success); any other 2xx counts like a 500"
	case r.OwnAnswers():
		return "any 2xx, where endpoint.rules do not say otherwise"
	}
	return "any 2xx"
}

// ownWord says what an endpoint may ask for in its answer, whatever the rules are.
func ownWord(r inspect.RelayDescription) string {
	return fmt.Sprintf("Retryd-Action decides before any rule; Retryd-Delay and Retry-After ask for %s at most", short(r.MaxRetryAfter))
}

func startWords(r inspect.RelayDescription) string {
	switch {
	case !r.Consume:
		return "your application reads the main topic itself and writes into the tiers (consume: false)"
	case r.Start == "":
		return "not set: a new group on a topic that holds records makes the relay wait for your decision"
	case r.Start == "earliest":
		return "earliest: a new group begins with the oldest record of the topic"
	case r.Start == "latest":
		return "latest: a new group skips the records that the topic holds"
	}
	return r.Start + ": a new group begins with the first record of that time or later"
}

// groupWords spells tiers' groups once, as each ends in its topic.
func groupWords(r inspect.RelayDescription) string {
	var groups []string
	if r.Consume {
		groups = append(groups, r.Group)
	}
	if len(r.Attempts) > 1 {
		tier := r.Attempts[1]
		groups = append(groups, "of a tier: "+strings.TrimSuffix(tier.Group, tier.Topic)+"<topic>")
	}
	if len(groups) == 0 {
		return "none: without a tier there is nothing for retryd to do"
	}
	return strings.Join(groups, "; ")
}

// parkWords says where a record is that must wait for longer than its tier's delay.
func parkWords(parks []inspect.Park) string {
	var topics []string
	for _, p := range parks {
		topics = append(topics, fmt.Sprintf("%s (%s)", p.Topic, short(p.Delay)))
	}
	return "a record that must wait for longer than its tier's delay moves on to " + strings.Join(topics, ", ") + ", whichever is the longest that fits"
}

func costWords(r inspect.RelayDescription) string {
	formula, c := "N + N·f·L", r.Cost
	if !r.Consume {
		formula = "N·f·L"
	}
	if r.Endless {
		return formula + " requests, L unbounded: what fails in every attempt, f of N records, is attempted again and again, each time with a write to Kafka"
	}
	return fmt.Sprintf("%s requests, L = %d: of %s records of which %d %% fail in every attempt, %s requests, plus %s writes to Kafka",
		formula, c.Retries, thousands(c.Records), c.Failing*100/c.Records, thousands(c.Requests), thousands(c.Writes))
}

// writeFindings prints one finding a line. They are not wrapped: some hold a command
// to be copied, and a line can be searched for.
func writeFindings(w io.Writer, findings []inspect.Finding) {
	for _, f := range findings {
		level := string(f.Level)
		if f.Level == inspect.Fail {
			level = strings.ToUpper(level)
		}
		subject := strings.TrimSpace(f.Relay + " " + f.What)
		fmt.Fprintf(w, "  %-4s  %s: %s\n", level, subject, f.Text)
	}
}
