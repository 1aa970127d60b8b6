package policy_test

import (
	"fmt"
	"time"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

// A record fails in every attempt, half a second after each became due.
func ExampleDecide() {
	c := policy.DefaultConfig()
	c.Jitter = 0
	c.Tiers.List = []policy.Tier{{Delay: 5 * time.Second}, {Delay: 30 * time.Second}}
	schedule, errs := c.Schedule(10*time.Second, 3)
	if len(errs) > 0 {
		fmt.Println(errs)
		return
	}

	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	outcome := policy.Outcome{Verdict: policy.VerdictOf(policy.Classify(503, policy.KindStatus)), Status: 503}
	var state record.State
	for {
		d := policy.Decide(schedule, state, outcome, now, 0.5)
		if d.Action == policy.ActionDeadLetter {
			state = policy.Advance(state, outcome, d, "loans.DLT", now)
			fmt.Printf("%s dead letter: %s, %d attempts\n", now.Format(time.TimeOnly), d.Reason, state.Attempt)
			return
		}
		topic := c.Tiers.Topic("loans", d.Step)
		fmt.Printf("%s forward to %s, due %s\n", now.Format(time.TimeOnly), topic, d.NotBefore.Format(time.TimeOnly))
		state = policy.Advance(state, outcome, d, topic, now)
		now = d.NotBefore.Add(500 * time.Millisecond)
	}

	// Output:
	// 12:00:00 forward to loans.retry.1, due 12:00:05
	// 12:00:05 forward to loans.retry.2, due 12:00:35
	// 12:00:36 dead letter: exhausted, 3 attempts
}
