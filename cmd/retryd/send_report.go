package main

import (
	"cmp"
	"fmt"
	"io"
	"net/textproto"
	"strings"
	"time"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/redact"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/internal/tier"
)

// sendReport is what send prints.
type sendReport struct {
	Relay    string   `json:"relay"`
	Endpoint string   `json:"endpoint"` // the URL without its query, which may hold a secret
	Attempt  int      `json:"attempt"`
	Last     int      `json:"last_attempt"` // the number of the relay's last one
	EventID  string   `json:"event_id"`
	Bytes    int      `json:"value_bytes"`
	Warnings []string `json:"warnings"`

	Accepted bool            `json:"accepted"`
	Status   int             `json:"status"`       // 0 without an answer
	Rule     string          `json:"rule"`         // that applied; empty: the default table, or the endpoint's own word
	Spoken   bool            `json:"spoken"`       // the endpoint decided by itself (Retryd-Action)
	Wait     inspect.Seconds `json:"wait_seconds"` // that the endpoint asked for, bounded; 0: none
	Ignored  []string        `json:"ignored"`      // headers of the answer that make no sense
	Class    policy.Class    `json:"class"`
	Kind     policy.Kind     `json:"error_kind"`
	Error    string          `json:"error"`
	Duration inspect.Seconds `json:"duration_seconds"`
	Response string          `json:"response"` // start of the body of an answer that did not accept
	Next     next            `json:"next"`

	treatment  policy.Treatment
	uncaptured bool // the body of the answer is kept nowhere, and not shown either
}

// next is what the daemon would do now.
type next struct {
	Action inspect.Action  `json:"action"`
	Topic  string          `json:"topic"`         // that the record would be written to, if any
	Reason policy.Reason   `json:"reason"`        // of a dead letter
	Delay  inspect.Seconds `json:"delay_seconds"` // of a forward or a move, without jitter, or until the next POST in place

	text string
}

func reportOf(relay tier.Config, s policy.Schedule, r *record.Record, state record.State, o policy.Outcome, hide redact.Rules) sendReport {
	return sendReport{
		Relay: relay.Name, Endpoint: forward.WithoutQuery(relay.Endpoint.URL),
		Attempt: state.Attempt + 1, Last: len(s.Steps) + 1,
		EventID: hide.EventID(state.EventID), Bytes: len(r.Value),
		Accepted: o.Delivered(), Status: o.Status, Rule: o.Rule, Spoken: o.Spoken,
		Wait: inspect.Seconds(o.Wait), Ignored: ignoredOf(o.Ignored), treatment: o.Treatment,
		Class: o.Class, Kind: o.Kind, Error: hide.Text(record.HeaderError, o.Error),
		Duration: inspect.Seconds(o.Duration), Response: string(o.Response),
		Next:       nextOf(relay, s, state, o),
		uncaptured: !relay.Endpoint.CaptureResponse && o.Status > 0 && !o.Delivered(),
	}
}

func (s sendReport) write(w io.Writer) {
	f := facts{
		{"request", "POST " + s.Endpoint},
		{"record", fmt.Sprintf("attempt %d of %d, %s, event id %s", s.Attempt, s.Last, status.Count(s.Bytes, "byte"), s.EventID)},
		{"answer", fmt.Sprintf("%s in %s", s.answer(), took(s.Duration))},
	}
	f = append(f, [2]string{"rule", s.rule()})
	if s.Wait > 0 {
		f = append(f, [2]string{"wait", "the endpoint asks for " + short(s.Wait) + " at least"})
	}
	if len(s.Ignored) > 0 {
		f = append(f, [2]string{"ignored", strings.Join(s.Ignored, ", ") + ": the value makes no sense"})
	}
	if !s.Accepted {
		f = append(f, [2]string{"class", string(s.Class)})
	}
	switch {
	case s.uncaptured:
		f = append(f, [2]string{"response", "not shown: endpoint.capture_response is false"})
	case s.Response != "":
		f = append(f, [2]string{"response", status.OneLine(s.Response)})
	}
	append(f, [2]string{"next", s.Next.text}).write(w)
	for _, text := range s.Warnings {
		paragraph(w, "warning: "+text)
	}
}

// rule says what decided, and how.
func (s sendReport) rule() string {
	by := "default table"
	switch {
	case s.Spoken:
		by = "the endpoint's own word (Retryd-Action)"
	case s.Rule != "":
		by = s.Rule
	}
	return by + ": " + string(s.treatment)
}

// ignoredOf names the headers; the list is not nil.
func ignoredOf(words policy.Words) []string {
	names := []string{}
	for _, word := range policy.AllWords() {
		if words&word != 0 {
			names = append(names, textproto.CanonicalMIMEHeaderKey(word.Header()))
		}
	}
	return names
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

func nextOf(relay tier.Config, s policy.Schedule, state record.State, o policy.Outcome) next {
	now := time.Now()
	if d, again := s.Again(state, o, 1, now); again {
		n := next{Action: inspect.ActionOf(d.Action), Delay: inspect.Seconds(d.Delay)}
		n.text = fmt.Sprintf("in_place: POSTed again after %s, in the same attempt, of %d POSTs at most", short(n.Delay), s.InPlace.Attempts)
		return n
	}
	const middle = 0.5 // no jitter
	d := policy.Decide(s, state, o, now, middle)
	n := next{Action: inspect.ActionOf(d.Action), Reason: d.Reason, Delay: inspect.Seconds(d.Delay)}
	switch {
	case n.Action == inspect.ActionDone:
		n.text = "delivered: the record is done"
	case n.Action == inspect.ActionForward:
		n.Topic = relay.TierTopics()[d.Step-1]
		after := "attempted again"
		if policy.Expired(s, state.Origin.Timestamp, d.NotBefore) {
			after = "dead-lettered (expired)"
		}
		n.text = fmt.Sprintf("tier %d: written to %s, %s after about %s", d.Step, n.Topic, after, short(n.Delay))
	case n.Action == inspect.ActionDeadLetter:
		n.Topic = cmp.Or(d.DLT, relay.DLT.Topic)
		n.text = fmt.Sprintf("dead letter (%s): written to %s, since %s", n.Reason, n.Topic, whyDead(n.Reason))
	case n.Action == inspect.ActionMove:
		n.Topic = relay.RetryTopics()[d.Place-1].Name
		n.text = fmt.Sprintf("throttled: delivery pauses; written to %s, the same attempt is made again after about %s, since the endpoint asks for fewer requests", n.Topic, short(n.Delay))
	case o.Treatment == policy.TreatThrottle:
		n.text = "held: delivery pauses, no attempt is spent; the endpoint asks for fewer requests"
	case o.Treatment == policy.TreatStop:
		n.text = "held: the relay stops until an operator resumes it, no attempt is spent"
	default:
		n.text = "held: delivery pauses, no attempt is spent; the endpoint or its configuration is wrong, not the record"
	}
	return n
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
	case policy.ReasonReplays:
		return "it was replayed max_replays times"
	}
	return "it failed as often as there are tiers"
}
