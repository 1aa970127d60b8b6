package inspect

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/tier"
)

// Description is what a configuration means.
type Description struct {
	Relays      []RelayDescription `json:"relays"` // in the order of the configuration
	Answers     []Answer           `json:"answers"`
	MaxInFlight int                `json:"max_in_flight"` // attempts at a time over all relays, per instance
	WindowBytes int64              `json:"window_bytes"`  // memory for waiting records, per instance
}

// RelayDescription is what happens to the records of one relay.
type RelayDescription struct {
	Name            string  `json:"name"`
	Topic           string  `json:"topic"`
	Consume         bool    `json:"consume"`
	Group           string  `json:"group"` // of the main topic; that of a tier is in its attempt
	Start           string  `json:"start"`
	Ordering        string  `json:"ordering"`
	OrderingMeans   string  `json:"ordering_means"`  // what it gives and costs, a sentence
	Endpoint        string  `json:"endpoint"`        // the URL without its query
	Success         []int   `json:"success"`         // statuses that accept a record; empty: any 2xx
	Timeout         Seconds `json:"timeout_seconds"` // of one attempt
	MaxInFlight     int     `json:"max_in_flight"`   // attempts at a time, per instance
	LimitedAttempts int     `json:"limited_attempts"`

	Attempts    []Attempt `json:"attempts"`
	DLT         string    `json:"dlt"`
	End         Seconds   `json:"end_seconds"`    // since the first failure: dead-lettered by then
	Budget      Seconds   `json:"budget_seconds"` // since the first failure
	Lifetime    Seconds   `json:"lifetime_seconds"`
	ExpireAfter Seconds   `json:"expire_after_seconds"` // 0: never
	Cost        Cost      `json:"cost"`
}

// Attempt is one attempt of a record that fails in each; the times are as
// policy.Foreseen gives them.
type Attempt struct {
	Number    int     `json:"attempt"` // 1 on the main topic
	Topic     string  `json:"topic"`
	Group     string  `json:"group"` // empty where the application makes the attempt itself
	Delay     Seconds `json:"delay_seconds"`
	Shortest  Seconds `json:"shortest_delay_seconds"`
	Longest   Seconds `json:"longest_delay_seconds"`
	Earliest  Seconds `json:"earliest_seconds"`
	Latest    Seconds `json:"latest_seconds"`
	Shortened bool    `json:"may_be_shortened_by_budget"`
	Budget    bool    `json:"may_be_prevented_by_budget"`
	Lifetime  bool    `json:"may_be_prevented_by_lifetime"`
	Never     bool    `json:"never"`
}

// Seconds is a duration that is a number in JSON.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// Describe explains a configuration that config.Load returned.
func Describe(cfg *config.Config) Description {
	d := Description{Answers: Answers(), WindowBytes: int64(cfg.Window.Bytes)}
	for _, relay := range cfg.Relays {
		d.Relays = append(d.Relays, describeRelay(relay))
		d.MaxInFlight += relay.Endpoint.MaxInFlight
	}
	return d
}

func describeRelay(c tier.Config) RelayDescription {
	schedule, _ := c.Schedule() // a loaded configuration has no problems
	attempts, end := schedule.Forecast(c.Endpoint.Timeout)
	d := RelayDescription{
		Name:            c.Name,
		Topic:           c.Topic,
		Consume:         c.Consume,
		Start:           c.Start,
		Ordering:        c.Ordering,
		OrderingMeans:   c.OrderingSentence(),
		Endpoint:        withoutQuery(c.Endpoint.URL),
		Success:         append([]int{}, c.Endpoint.Success...),
		Timeout:         Seconds(c.Endpoint.Timeout),
		MaxInFlight:     c.Endpoint.MaxInFlight,
		LimitedAttempts: c.Endpoint.LimitedAttempts,
		DLT:             c.DLT.Topic,
		End:             Seconds(end),
		Budget:          Seconds(schedule.Budget),
		Lifetime:        Seconds(schedule.Lifetime),
		ExpireAfter:     Seconds(schedule.ExpireAfter),
	}
	if c.Consume {
		d.Group = c.Group
	}
	retries := 0
	for _, f := range attempts {
		d.Attempts = append(d.Attempts, describeAttempt(c, schedule, f))
		if f.Step > 0 && !f.Never {
			retries++
		}
	}
	d.Cost = costOf(retries, c.Consume)
	return d
}

func describeAttempt(c tier.Config, s policy.Schedule, f policy.Foreseen) Attempt {
	a := Attempt{
		Number:    f.Step + 1,
		Topic:     c.Topic,
		Shortest:  Seconds(f.Shortest),
		Longest:   Seconds(f.Longest),
		Earliest:  Seconds(f.Earliest),
		Latest:    Seconds(f.Latest),
		Shortened: f.Shortened,
		Budget:    f.Budget,
		Lifetime:  f.Lifetime,
		Never:     f.Never,
	}
	switch {
	case f.Step > 0:
		a.Topic = c.TierTopics()[f.Step-1]
		a.Group = c.TierGroup(a.Topic)
		a.Delay = Seconds(s.Steps[f.Step-1].Delay)
	case c.Consume:
		a.Group = c.Group
	}
	return a
}

// withoutQuery leaves out where tokens are put; an endpoint's URL has no user,
// password or fragment.
func withoutQuery(url string) string {
	before, _, _ := strings.Cut(url, "?")
	return before
}

// Cost is what retries cost when some records fail in every attempt: the failing
// ones come once more with every tier that they reach.
type Cost struct {
	Records  int `json:"records"`
	Failing  int `json:"failing"`
	Retries  int `json:"retries"`  // of one failing record
	Requests int `json:"requests"` // to the endpoint
	Writes   int `json:"writes"`   // to retry topics and the dead-letter topic
}

// costOf takes 1,000 records, of which 10 % fail. Where the application reads the
// main topic, it makes the first requests and the first writes.
func costOf(retries int, consume bool) Cost {
	c := Cost{Records: 1000, Failing: 100, Retries: retries}
	c.Requests, c.Writes = c.Failing*retries, c.Failing*retries
	if consume {
		c.Requests += c.Records
		c.Writes += c.Failing
	}
	return c
}
