package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/internal/tier"
)

// stateOf returns what the daemon would know of a record that is attempted for the
// nth time: the state of a main record that failed n-1 times and waited in every
// tier as long as its delay says. The record gets the time of its first attempt.
func stateOf(relay tier.Config, r *record.Record, n int) (state record.State, ignored []string, err error) {
	schedule, _ := relay.Schedule() // the configuration is valid
	if most := len(schedule.Steps) + 1; n < 1 || n > most {
		return record.State{}, nil, usage("--attempt is %d: relay %s makes %s", n, relay.Name, count(most, "attempt"))
	}
	now := r.Timestamp
	for _, step := range schedule.Steps[:n-1] {
		r.Timestamp = r.Timestamp.Add(-step.Delay)
	}
	state, problems := record.Decode(r, record.Source{
		Main: true, MaxAttempt: len(schedule.Steps), IDHeaders: relay.EventIDHeaders, Now: now,
	})
	for i := range schedule.Steps[:n-1] {
		failed := policy.Outcome{Class: policy.ClassTransient, Kind: policy.KindStatus, Status: 503, Error: "status 503"}
		next := policy.Decision{Action: policy.ActionForward, Step: i + 1}
		state = policy.Advance(state, failed, next, relay.TierTopics()[i], r.Timestamp)
	}
	ignored = []string{} // [] in JSON
	for _, p := range problems {
		ignored = append(ignored, fmt.Sprintf("header %s %s", p.Header, p.Reason))
	}
	return state, ignored, nil
}

// sendReport is what send prints.
type sendReport struct {
	Relay    string   `json:"relay"`
	URL      string   `json:"url"` // without its query, which may hold a secret
	Attempt  int      `json:"attempt"`
	Attempts int      `json:"attempts"` // that the relay makes at most
	EventID  string   `json:"event_id"`
	Bytes    int      `json:"bytes"` // of the value
	Warnings []string `json:"warnings"`

	Accepted bool            `json:"accepted"`
	Status   int             `json:"status"` // 0 without an answer
	Class    policy.Class    `json:"class"`
	Kind     policy.Kind     `json:"error_kind"`
	Error    string          `json:"error"`
	Duration inspect.Seconds `json:"duration_seconds"`
	Response string          `json:"response"` // start of the body of an answer that did not accept
	Next     string          `json:"next"`
}

func reportOf(relay tier.Config, r *record.Record, state record.State, o policy.Outcome) sendReport {
	schedule, _ := relay.Schedule()
	return sendReport{
		Relay: relay.Name, URL: shownURL(relay.Endpoint.URL),
		Attempt: state.Attempt + 1, Attempts: len(schedule.Steps) + 1,
		EventID: state.EventID, Bytes: len(r.Value),
		Accepted: o.Delivered(), Status: o.Status, Class: o.Class, Kind: o.Kind, Error: o.Error,
		Duration: inspect.Seconds(o.Duration), Response: string(o.Response),
		Next: nextText(relay, schedule, state, o),
	}
}

// shownURL leaves out the query: some endpoints want their key there.
func shownURL(url string) string {
	shown, _, _ := strings.Cut(url, "?")
	return shown
}

func (s sendReport) write(w io.Writer) {
	f := facts{
		{"request", "POST " + s.URL},
		{"record", fmt.Sprintf("attempt %d of %d, %s, event id %s", s.Attempt, s.Attempts, count(s.Bytes, "byte"), s.EventID)},
		{"answer", fmt.Sprintf("%s in %s", s.answer(), took(s.Duration))},
	}
	if !s.Accepted {
		f = append(f, [2]string{"class", string(s.Class)})
	}
	if s.Response != "" {
		f = append(f, [2]string{"response", status.OneLine(s.Response)})
	}
	append(f, [2]string{"next", s.Next}).write(w)
	for _, text := range s.Warnings {
		paragraph(w, "warning: "+text)
	}
}

// took writes how long an attempt lasted.
func took(d inspect.Seconds) string {
	if time.Duration(d) < time.Millisecond {
		return "under 1ms"
	}
	return short(d)
}

func (s sendReport) answer() string {
	if s.Status == 0 {
		return fmt.Sprintf("none (%s: %s)", s.Kind, s.Error)
	}
	return fmt.Sprint(s.Status)
}

// nextText says what the daemon would do now.
func nextText(relay tier.Config, schedule policy.Schedule, state record.State, o policy.Outcome) string {
	const middle = 0.5 // no jitter
	d := policy.Decide(schedule, state, o, time.Now(), middle)
	switch d.Action {
	case policy.ActionDone:
		return "delivered: the record is done"
	case policy.ActionForward:
		return fmt.Sprintf("tier %d: written to %s, attempted again after about %s", d.Step, relay.TierTopics()[d.Step-1], short(inspect.Seconds(d.Delay)))
	case policy.ActionDeadLetter:
		return fmt.Sprintf("dead letter (%s): written to %s, since %s", d.Reason, relay.DLT.Topic, whyDead(d.Reason))
	}
	if o.Class == policy.ClassThrottled {
		return "held: delivery pauses, no attempt is spent; the endpoint asks for fewer requests"
	}
	return "held: delivery pauses, no attempt is spent; the endpoint or its configuration is wrong, not the record"
}

// whyDead explains a reason of which a single attempt can be the cause.
func whyDead(r policy.Reason) string {
	switch r {
	case policy.ReasonRejected:
		return "the endpoint cannot read the record"
	case policy.ReasonConflict:
		return "the record contradicts what the endpoint has"
	case policy.ReasonExhausted:
		return "this was the last attempt"
	case policy.ReasonLimited:
		return "it may fail like this endpoint.limited_attempts times"
	case policy.ReasonBudget:
		return "the budget leaves less than half of the next delay"
	case policy.ReasonLifetime:
		return "its first failure is longer ago than its lifetime"
	}
	return "it failed as often as there are tiers"
}
