package tier

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

// Config is one relay: a main topic, the endpoint that handles its records, the
// tiers that a failing record walks, and the dead-letter topic where it ends.
type Config struct {
	Topic          string         `mapstructure:"topic"`            // the main topic; it must exist
	Name           string         `mapstructure:"name"`             // labels the relay; default Topic
	Group          string         `mapstructure:"group"`            // consumer group of main; default retryd-<name>
	Prefix         string         `mapstructure:"prefix"`           // of the tier and dead-letter topics; default Topic
	Start          string         `mapstructure:"start"`            // earliest, latest or RFC 3339: where a group without commits begins
	Consume        bool           `mapstructure:"consume"`          // false: the application reads main itself and writes into the tiers
	Ordering       string         `mapstructure:"ordering"`         // none
	EventIDHeaders []string       `mapstructure:"event_id_headers"` // where the event id is looked for, first match wins
	Endpoint       forward.Config `mapstructure:"endpoint"`
	Policy         policy.Config  `mapstructure:",squash"`
	DLT            DLT            `mapstructure:"dlt"`
	Review         Review         `mapstructure:"review"`
}

// DLT is the dead-letter topic.
type DLT struct {
	Topic string `mapstructure:"topic"` // default <prefix>.DLT
}

// Review is the topic of the records that a person has to look at, which are dead letters
// like others while it is not enabled.
type Review struct {
	Enabled bool   `mapstructure:"enabled"`
	Topic   string `mapstructure:"topic"` // default <prefix>.review; empty while it is not enabled
}

// maxGroup bounds a group's name. Kafka has no rule of its own; a tier's group is
// longer by the name of the tier's topic, and both are written into headers.
const maxGroup = 249

var (
	relayName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)
	groupName = regexp.MustCompile(`^[!-~]+$`)
)

// DefaultConfig returns the defaults of all keys that do not derive from others.
func DefaultConfig() Config {
	return Config{
		Consume:        true,
		Ordering:       "none",
		EventIDHeaders: record.DefaultIDHeaders(),
		Endpoint:       forward.DefaultConfig(),
		Policy:         policy.DefaultConfig(),
	}
}

// Resolve fills in the names that derive from others and are not set.
func (c *Config) Resolve() {
	setDefault(&c.Name, c.Topic)
	setDefault(&c.Group, "retryd-"+c.Name)
	setDefault(&c.Prefix, c.Topic)
	setDefault(&c.DLT.Topic, c.Prefix+".DLT")
	if c.Review.Enabled {
		setDefault(&c.Review.Topic, c.Prefix+".review")
	}
}

func setDefault(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

// Schedule returns the walk of the relay's records, or every problem of the keys
// that describe it, each text beginning with its key.
func (c Config) Schedule() (policy.Schedule, []error) {
	s, errs := c.Policy.Schedule(c.Endpoint.Timeout, c.Endpoint.LimitedAttempts)
	if len(errs) == 0 && c.Review.Enabled {
		s.Review = c.Review.Topic
	}
	return s, errs
}

// TierTopics returns the topics of the tiers, the first at index 0. It is empty
// if the schedule has problems.
func (c Config) TierTopics() []string {
	schedule, _ := c.Schedule()
	topics := make([]string, len(schedule.Steps))
	for i := range topics {
		topics[i] = c.Policy.Tiers.Topic(c.Prefix, i+1)
	}
	return topics
}

// TierGroup returns the consumer group of a topic in which records wait.
func (c Config) TierGroup(topic string) string {
	return c.Group + "-retry-" + topic
}

// Validate reports every problem of a resolved relay that shows without a look at
// other relays, each text beginning with its key. A name that derives from a wrong
// one is not reported again.
func (c Config) Validate() []error {
	errs := c.checkTopics()
	if c.Review.Topic != "" && !c.Review.Enabled {
		errs = append(errs, errors.New("review.topic: nothing is written there without review.enabled: true; set that, or remove this key"))
	}
	if c.Name != c.Topic && !relayName.MatchString(c.Name) {
		errs = append(errs, fmt.Errorf("name: %q must be letters, digits, \".\", \"_\" and \"-\", at least one", c.Name))
	}
	if c.Group != "retryd-"+c.Name && (!groupName.MatchString(c.Group) || len(c.Group) > maxGroup) {
		errs = append(errs, fmt.Errorf("group: %q must be 1 to %d visible ASCII characters", c.Group, maxGroup))
	}
	errs = append(errs, c.checkStart()...)
	if c.Ordering != "none" {
		errs = append(errs, c.checkOrdering())
	}
	errs = append(errs, c.checkEventIDHeaders()...)
	for _, err := range c.Endpoint.Validate() {
		errs = append(errs, fmt.Errorf("endpoint.%w", err))
	}
	_, problems := c.Schedule()
	return append(errs, problems...)
}

func (c Config) checkStart() []error {
	switch {
	case c.Start == "":
		return nil
	case !c.Consume:
		return []error{errors.New("start: has no meaning with consume: false, which has no group on the main topic; remove one of the two")}
	case c.Start == "earliest" || c.Start == "latest":
		return nil
	}
	if _, err := time.Parse(time.RFC3339, c.Start); err != nil {
		return []error{fmt.Errorf("start: %q is not earliest, latest or an RFC 3339 time, as in 2026-01-31T08:00:00Z", c.Start)}
	}
	return nil
}

func (c Config) checkOrdering() error {
	if c.Ordering == "key" || c.Ordering == "partition" {
		return fmt.Errorf("ordering: %s is not available in this version; use none", c.Ordering)
	}
	return fmt.Errorf("ordering: %q is no kind of ordering; use none", c.Ordering)
}

func (c Config) checkEventIDHeaders() []error {
	var errs []error
	for i, entry := range c.EventIDHeaders {
		if _, err := record.ParseIDSource(entry); err != nil {
			errs = append(errs, fmt.Errorf("event_id_headers[%d]: %w", i, err))
		}
	}
	return errs
}

func (c Config) checkTopics() []error {
	if c.Topic == "" {
		return []error{errors.New("topic: missing: name the main topic")}
	}
	var errs []error
	check := func(key, topic string) bool {
		err := kafka.CheckTopicName(topic)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
		return err == nil
	}
	derive := check("topic", c.Topic)
	if c.Prefix != c.Topic {
		derive = check("prefix", c.Prefix)
	}
	for i, t := range c.Policy.Tiers.List {
		if t.Topic != "" {
			check(fmt.Sprintf("tiers[%d].topic", i), t.Topic)
		}
	}
	for i, p := range c.Policy.Park {
		if p.Topic != "" {
			check(fmt.Sprintf("park[%d].topic", i), p.Topic)
		}
	}
	for _, t := range c.DeadLetterTopics() {
		if t.Name != c.Prefix+".DLT" && t.Name != c.Prefix+".review" {
			check(t.Key, t.Name)
		}
	}
	if derive && len(c.longestDerived()) > kafka.MaxTopicName {
		errs = append(errs, fmt.Errorf("prefix: %d characters are too many for names like <prefix>.retry.1, which have at most %d; set a shorter prefix",
			len(c.Prefix), kafka.MaxTopicName))
	}
	return errs
}

// longestDerived returns the longest topic name that the prefix makes.
func (c Config) longestDerived() string {
	longest := ""
	for _, s := range c.TopicSpecs() {
		if strings.HasPrefix(s.Name, c.Prefix) && len(s.Name) > len(longest) {
			longest = s.Name
		}
	}
	return longest
}
