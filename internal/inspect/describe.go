package inspect

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/tier"
)

// Description is what a configuration means.
type Description struct {
	Relays      []RelayDescription `json:"relays"`        // in the order of the configuration
	MaxInFlight int                `json:"max_in_flight"` // attempts at a time over all relays, per instance
	WindowBytes int64              `json:"window_bytes"`  // memory for waiting records, per instance
}

// RelayDescription is what happens to the records of one relay.
type RelayDescription struct {
	Name            string  `json:"name"`
	Topic           string  `json:"topic"`
	Consume         bool    `json:"consume"`
	Group           string  `json:"group"` // of the main topic, empty without consume; that of a tier is in its attempt
	Start           string  `json:"start"`
	Ordering        string  `json:"ordering"`
	OrderingMeans   string  `json:"ordering_means"`  // what it gives and costs, a sentence
	Endpoint        string  `json:"endpoint"`        // the URL without its query
	Success         []int   `json:"success"`         // statuses that accept a record; empty: any 2xx
	Timeout         Seconds `json:"timeout_seconds"` // of one attempt
	MaxInFlight     int     `json:"max_in_flight"`   // attempts at a time, per instance
	LimitedAttempts int     `json:"limited_attempts"`

	MaxRetryAfter Seconds `json:"max_retry_after_seconds"` // the longest wait that the endpoint may ask for

	Guard Guard `json:"guard"`

	Answers     []Answer     `json:"answers"` // the first that matches counts
	Attempts    []Attempt    `json:"attempts"`
	Park        []Park       `json:"park"` // the shortest delay first
	DLT         DeadLetters  `json:"dlt"`
	Review      *DeadLetters `json:"review"`         // null: what a person has to look at goes to DLT
	End         Seconds      `json:"end_seconds"`    // since the first failure: dead-lettered by then
	Budget      Seconds      `json:"budget_seconds"` // since the first failure; 0 with repeat_last
	Lifetime    Seconds      `json:"lifetime_seconds"`
	ExpireAfter Seconds      `json:"expire_after_seconds"` // 0: never

	InPlace       InPlace `json:"in_place"`
	OnExhausted   string  `json:"on_exhausted"`
	MaxUnfinished int     `json:"max_unfinished"` // of a partition of the last tier, with repeat_last
	MaxReplays    int     `json:"max_replays"`
	Endless       bool    `json:"endless"`                 // the last attempt is repeated: End, Budget and Lifetime are 0
	Shortest      Seconds `json:"shortest_repeat_seconds"` // wait before each repeat; 0 unless endless
	Longest       Seconds `json:"longest_repeat_seconds"`

	Cost Cost `json:"cost"`
}

// InPlace is how a record's first attempt may take several POSTs.
type InPlace struct {
	Posts int     `json:"posts"` // at most; 1: no other
	Delay Seconds `json:"delay_seconds"`
}

// Park is a topic for waits that are longer than those of the tiers.
type Park struct {
	Tier  string  `json:"tier"` // its label, such as park-24h
	Topic string  `json:"topic"`
	Group string  `json:"group"`
	Delay Seconds `json:"delay_seconds"`
}

// DeadLetters is where records end.
type DeadLetters struct {
	Topic string `json:"topic"`
}

// Attempt is one attempt of a record that fails in each; the times are as
// policy.Foreseen gives them. Where the application reads the main topic, it makes the
// first attempt, which has no times; they count from the failure of the second then,
// the first that retryd makes.
type Attempt struct {
	Number    int     `json:"attempt"` // 1 on the main topic
	Tier      string  `json:"tier"`    // main, or the tier's number
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
	Expiry    bool    `json:"may_be_prevented_by_expire_after"`
	Never     bool    `json:"never"`
}

// Made is the number of attempts that retryd makes at most of a record that fails in
// each.
func (r RelayDescription) Made() int {
	made := 0
	for _, a := range r.Attempts {
		if a.Group != "" && !a.Never {
			made++
		}
	}
	return made
}

// OwnAnswers reports whether the answers are other ones than those of the default table
// alone.
func (r RelayDescription) OwnAnswers() bool {
	return slices.ContainsFunc(r.Answers, func(a Answer) bool { return a.Rule != "" })
}

// Seconds is a duration that is a number in JSON.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// Describe explains a configuration that config.Load returned.
func Describe(cfg *config.Config) Description {
	d := Description{WindowBytes: int64(cfg.Window.Bytes)}
	for _, relay := range cfg.Relays {
		d.Relays = append(d.Relays, describeRelay(relay))
		d.MaxInFlight += relay.Endpoint.MaxInFlight
	}
	return d
}

func describeRelay(c tier.Config) RelayDescription {
	schedule, _ := c.Schedule() // a loaded configuration has no problems
	d := RelayDescription{
		Name:            c.Name,
		Topic:           c.Topic,
		Consume:         c.Consume,
		Start:           c.Start,
		Ordering:        c.Ordering,
		OrderingMeans:   c.OrderingSentence(),
		Endpoint:        forward.WithoutQuery(c.Endpoint.URL),
		Success:         append([]int{}, c.Endpoint.Success...),
		Timeout:         Seconds(c.Endpoint.Timeout),
		MaxInFlight:     c.Endpoint.MaxInFlight,
		LimitedAttempts: c.Endpoint.LimitedAttempts,
		MaxRetryAfter:   Seconds(c.Endpoint.MaxRetryAfter),
		Guard:           guardOf(c.Endpoint),
		Answers:         Answers(c.Endpoint),
		Park:            []Park{},
		DLT:             DeadLetters{c.DLT.Topic},
		Budget:          Seconds(schedule.Budget),
		Lifetime:        Seconds(schedule.Lifetime),
		ExpireAfter:     Seconds(schedule.ExpireAfter),
		InPlace:         InPlace{c.Policy.InPlace.Attempts, Seconds(c.Policy.InPlace.Delay)},
		OnExhausted:     c.Policy.OnExhausted,
		MaxUnfinished:   c.Policy.MaxUnfinished,
		MaxReplays:      c.Policy.MaxReplays,
	}
	if c.Consume {
		d.Group = c.Group
	} else {
		d.Attempts = append(d.Attempts, Attempt{Number: 1, Tier: metrics.TierMain, Topic: c.Topic})
	}
	if c.Review.Enabled {
		d.Review = &DeadLetters{c.Review.Topic}
	}
	attempts, end := schedule.Forecast(FirstStep(c), c.Endpoint.Timeout)
	for _, f := range attempts {
		d.Attempts = append(d.Attempts, describeAttempt(c, schedule, f))
	}
	for _, t := range c.RetryTopics() {
		if t.Park {
			d.Park = append(d.Park, Park{t.Label, t.Name, t.Group, Seconds(t.Delay)})
		}
	}
	d.End = Seconds(end)
	if schedule.RepeatLast {
		d.Budget, d.Lifetime = 0, 0
		if d.Endless = !d.Attempts[len(d.Attempts)-1].Never; d.Endless {
			last := schedule.Rests()[len(schedule.Steps)-1]
			d.End, d.Shortest, d.Longest = 0, Seconds(last.Least), Seconds(last.Most)
		}
	}
	d.Cost = costOf(d)
	return d
}

// FirstStep is where the records come in that a relay reads: 0 on the main topic, or
// the first tier, where the application reads the main topic itself.
func FirstStep(c tier.Config) int {
	if c.Consume {
		return 0
	}
	return 1
}

func describeAttempt(c tier.Config, s policy.Schedule, f policy.Foreseen) Attempt {
	a := Attempt{
		Number:    f.Step + 1,
		Tier:      metrics.TierMain,
		Topic:     c.Topic,
		Group:     c.Group,
		Shortest:  Seconds(f.Shortest),
		Longest:   Seconds(f.Longest),
		Earliest:  Seconds(f.Earliest),
		Latest:    Seconds(f.Latest),
		Shortened: f.Shortened,
		Budget:    f.Budget,
		Lifetime:  f.Lifetime,
		Expiry:    f.Expiry,
		Never:     f.Never,
	}
	if f.Step > 0 {
		a.Tier = strconv.Itoa(f.Step)
		a.Topic = c.TierTopics()[f.Step-1]
		a.Group = c.TierGroup(a.Topic)
		a.Delay = Seconds(s.Steps[f.Step-1].Delay)
	}
	return a
}

// Cost is what retries cost when some records fail in every attempt: the failing
// ones come once more with every tier that they reach.
type Cost struct {
	Records  int `json:"records"`
	Failing  int `json:"failing"`
	Retries  int `json:"retries"`  // of one failing record; of an endless schedule, until the last attempt is made once
	Requests int `json:"requests"` // to the endpoint
	Writes   int `json:"writes"`   // to retry topics and those in which records end
}

// costOf takes 1,000 records, of which 10 % fail in each of the attempts that retryd
// makes. Where the application reads the main topic, it makes the first requests and the
// first writes. A record that always expires is written once without an attempt.
func costOf(d RelayDescription) Cost {
	made := d.Made()
	c := Cost{Records: 1000, Failing: 100, Retries: made}
	if d.Consume {
		c.Retries--
		c.Requests = c.Records
	}
	c.Requests += c.Failing * c.Retries
	c.Writes = c.Failing * made
	if slices.ContainsFunc(d.Attempts, func(a Attempt) bool { return a.Never && a.Expiry }) {
		c.Writes += c.Failing
	}
	return c
}
