package kafka

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"time"
)

// Config is how the cluster is reached.
type Config struct {
	Brokers             []string      `mapstructure:"brokers"`         // host:port
	SessionTimeout      time.Duration `mapstructure:"session_timeout"` // group membership lost after this silence
	ClientID            string        `mapstructure:"client_id"`
	InstanceID          string        `mapstructure:"instance_id"`          // group.instance.id of a static member (KIP-345); empty: a dynamic one
	PartitionAssignment string        `mapstructure:"partition_assignment"` // AssignSticky or AssignCooperativeSticky
}

// How the partitions of a group are shared out among its members.
const (
	AssignSticky            = "sticky"             // at each rebalance every member lets go of all partitions
	AssignCooperativeSticky = "cooperative-sticky" // only of those that move (KIP-429)
)

// TopicsConfig says what may be done about topics, and names those that all relays share.
type TopicsConfig struct {
	Create  bool   `mapstructure:"create"`  // false: only check
	Control string `mapstructure:"control"` // which relays are paused or stopped
}

// The bounds of a session timeout. Most brokers refuse one under 6 s and one over
// 30 min (group.min.session.timeout.ms, group.max.session.timeout.ms). Under a second
// there is no time for heartbeats, nor for attempts, which begin only within half of
// it since a commit.
const (
	minSessionTimeout = time.Second
	maxSessionTimeout = 30 * time.Minute
)

// MaxTopicName is the longest topic name that Kafka accepts, in characters
// (org.apache.kafka.common.internals.Topic), and the longest group.instance.id, for
// which the same rules hold.
const MaxTopicName = 249

var nameCharset = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// DefaultConfig reaches a broker on this host. The session timeout is the one of
// Kafka's own clients (KIP-735): it rides out the restart of a broker.
func DefaultConfig() Config {
	return Config{
		Brokers:             []string{"127.0.0.1:9092"},
		SessionTimeout:      45 * time.Second,
		ClientID:            "retryd",
		PartitionAssignment: AssignSticky,
	}
}

// DefaultTopics lets missing topics be created.
func DefaultTopics() TopicsConfig {
	return TopicsConfig{Create: true, Control: "retryd.control"}
}

// Validate reports every problem, each text beginning with its key.
func (c TopicsConfig) Validate() []error {
	if c.Control == "" {
		return []error{errors.New("control: is empty; leave the key out for its default")}
	}
	if err := CheckTopicName(c.Control); err != nil {
		return []error{fmt.Errorf("control: %w", err)}
	}
	return nil
}

// Validate reports every problem, each text beginning with its key.
func (c Config) Validate() []error {
	var errs []error
	if len(c.Brokers) == 0 {
		errs = append(errs, fmt.Errorf("brokers: missing: give at least one host:port"))
	}
	for i, broker := range c.Brokers {
		if err := checkBroker(broker); err != nil {
			errs = append(errs, fmt.Errorf("brokers[%d]: %w", i, err))
		}
	}
	if c.SessionTimeout < minSessionTimeout || c.SessionTimeout > maxSessionTimeout {
		errs = append(errs, fmt.Errorf("session_timeout: must be 1s to 30m, not %s", c.SessionTimeout))
	}
	if !nameCharset.MatchString(c.ClientID) {
		errs = append(errs, fmt.Errorf("client_id: %q must be letters, digits, \".\", \"_\" and \"-\", at least one", c.ClientID))
	}
	if err := checkName("an instance id", c.InstanceID); c.InstanceID != "" && err != nil {
		errs = append(errs, fmt.Errorf("instance_id: %w", err))
	}
	if c.PartitionAssignment != AssignSticky && c.PartitionAssignment != AssignCooperativeSticky {
		errs = append(errs, fmt.Errorf("partition_assignment: %q must be %s or %s", c.PartitionAssignment, AssignSticky, AssignCooperativeSticky))
	}
	return errs
}

func checkBroker(broker string) error {
	host, port, err := net.SplitHostPort(broker)
	if err != nil || host == "" {
		return fmt.Errorf("%q is not host:port, as in kafka1.example.com:9092", broker)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("the port of %q is not a number from 1 to 65535", broker)
	}
	return nil
}

// CheckTopicName returns an error that says what Kafka would not accept about
// name, without naming a key.
func CheckTopicName(name string) error { return checkName("a topic name", name) }

func checkName(what, name string) error {
	switch {
	case len(name) > MaxTopicName:
		return fmt.Errorf("%q... is not %s: Kafka allows %d characters, not %d", name[:40], what, MaxTopicName, len(name))
	case name == "." || name == "..":
		return fmt.Errorf("%q is not %s: Kafka reserves it", name, what)
	case !nameCharset.MatchString(name):
		return fmt.Errorf("%q is not %s: Kafka allows letters, digits, \".\", \"_\" and \"-\", at least one", name, what)
	}
	return nil
}
