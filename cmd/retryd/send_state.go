package main

import (
	"fmt"
	"time"

	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/redact"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/internal/tier"
)

// stateOf returns what the daemon would know of a record that is attempted for the
// nth time, or for the first time at the daemon if n is 0: it failed in every attempt
// before, and waited in every tier as long as its delay says. The record gets the time
// at which it was written, and the topic.
func stateOf(relay tier.Config, s policy.Schedule, r *record.Record, n int, hide redact.Rules) (state record.State, warnings []string, err error) {
	from := inspect.FirstStep(relay)
	if n == 0 {
		n = from + 1
	}
	if err := checkAttempt(relay, s, from, n); err != nil {
		return record.State{}, nil, err
	}
	src := record.Source{
		Main: from == 0, Step: from, MaxAttempt: len(s.Steps), IDSources: record.ParseIDSources(relay.EventIDHeaders), Now: r.Timestamp,
	}
	for _, step := range s.Steps[:n-1] {
		r.Timestamp = r.Timestamp.Add(-step.Delay)
	}
	failed := r.Timestamp // in the first attempt
	if from > 0 {         // read from a tier, as the application wrote it
		r.Topic, src.Delay = relay.TierTopics()[from-1], s.Steps[from-1].Delay
		failed = failed.Add(src.Delay)
	}
	state, problems := record.Decode(r, src)
	warnings = neverMade(relay, s, from, n)
	for _, p := range problems {
		warnings = append(warnings, fmt.Sprintf("header %s %s", p.Header, hide.Problem(p)))
	}
	return fail(state, relay, s, n-1, failed), warnings, nil
}

// fail returns the state after failures up to a step, the first of them at a time.
func fail(state record.State, relay tier.Config, s policy.Schedule, step int, at time.Time) record.State {
	outcome := policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindStatus, Status: 503, Error: "status 503"}
	for state.Attempt < step {
		next := policy.Decision{Action: policy.ActionForward, Step: state.Attempt + 1}
		delay := s.Steps[next.Step-1].Delay
		next.Delay, next.NotBefore = delay, at.Add(delay)
		state = policy.Advance(state, outcome, next, relay.TierTopics()[next.Step-1], at)
		at = next.NotBefore
	}
	return state
}

// checkAttempt refuses attempts that the daemon never makes, whatever a record does.
func checkAttempt(relay tier.Config, s policy.Schedule, from, n int) error {
	most := len(s.Steps) + 1
	switch {
	case from >= most:
		return usage("relay %s makes no attempts: it has no tiers, and consume is false", relay.Name)
	case n > from && n <= most:
		return nil
	case from > 0:
		return usage("--attempt is %d: relay %s makes attempts %d to %d; your application makes those before (consume: false)", n, relay.Name, from+1, most)
	}
	return usage("--attempt is %d: relay %s makes %s", n, relay.Name, status.Count(most, "attempt"))
}

// neverMade warns of an attempt that no record comes to; the list is not nil.
func neverMade(relay tier.Config, s policy.Schedule, from, n int) []string {
	attempts, _ := s.Forecast(from, relay.Endpoint.Timeout)
	if !attempts[n-1-from].Never {
		return []string{}
	}
	limit := fmt.Sprintf("the budget (%s)", short(inspect.Seconds(s.Budget)))
	for _, a := range attempts {
		switch {
		case a.Never && a.Expiry:
			limit = fmt.Sprintf("expire_after (%s)", short(inspect.Seconds(s.ExpireAfter)))
		case a.Never && a.Lifetime:
			limit = fmt.Sprintf("the lifetime (%s)", short(inspect.Seconds(s.Lifetime)))
		}
	}
	return []string{fmt.Sprintf("the daemon never makes attempt %d: %s ends before; retryd check shows the schedule", n, limit)}
}
