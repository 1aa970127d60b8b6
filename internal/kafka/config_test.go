package kafka

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestConfigValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"default", func(*Config) {}, nil},
		{"several brokers", func(c *Config) { c.Brokers = []string{"a:1", "[::1]:65535"} }, nil},
		{"shortest session", func(c *Config) { c.SessionTimeout = time.Second }, nil},
		{"longest session", func(c *Config) { c.SessionTimeout = 30 * time.Minute }, nil},
		{"no brokers", func(c *Config) { c.Brokers = nil }, []string{"brokers: missing: give at least one host:port"}},
		{"everything wrong is said at once", func(c *Config) {
			*c = Config{Brokers: []string{"a:9092", "kafka1", ":9092", "b:0"}}
		}, []string{
			`brokers[1]: "kafka1" is not host:port, as in kafka1.example.com:9092`,
			`brokers[2]: ":9092" is not host:port, as in kafka1.example.com:9092`,
			`brokers[3]: the port of "b:0" is not a number from 1 to 65535`,
			`session_timeout: must be 1s to 30m, not 0s`,
			`client_id: "" must be letters, digits, ".", "_" and "-", at least one`,
			`partition_assignment: "" must be sticky or cooperative-sticky`,
		}},
		{"static member", func(c *Config) { c.InstanceID = "host-1.example_com" }, nil},
		{"no instance id", func(c *Config) { c.InstanceID = "host 1" }, []string{
			`instance_id: "host 1" is not an instance id: Kafka allows letters, digits, ".", "_" and "-", at least one`,
		}},
		{"reserved instance id", func(c *Config) { c.InstanceID = ".." }, []string{
			`instance_id: ".." is not an instance id: Kafka reserves it`,
		}},
		{"long instance id", func(c *Config) { c.InstanceID = strings.Repeat("a", 250) }, []string{
			`instance_id: "` + strings.Repeat("a", 40) + `"... is not an instance id: Kafka allows 249 characters, not 250`,
		}},
		{"cooperative", func(c *Config) { c.PartitionAssignment = "cooperative-sticky" }, nil},
		{"another assignor", func(c *Config) { c.PartitionAssignment = "range" }, []string{
			`partition_assignment: "range" must be sticky or cooperative-sticky`,
		}},
		{"session too short", func(c *Config) { c.SessionTimeout = 999 * time.Millisecond }, []string{
			`session_timeout: must be 1s to 30m, not 999ms`,
		}},
		{"session too long", func(c *Config) { c.SessionTimeout = time.Hour }, []string{
			`session_timeout: must be 1s to 30m, not 1h0m0s`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := DefaultConfig()
			tt.change(&c)
			var got []string
			for _, err := range c.Validate() {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckTopicNameFollowsKafka(t *testing.T) {
	tests := []struct {
		name  string
		topic string
		want  string // empty: valid
	}{
		{"every allowed character", "aZ09._-", ""},
		{"longest", strings.Repeat("a", 249), ""},
		{"three dots", "...", ""},
		{"too long", strings.Repeat("a", 250), `"` + strings.Repeat("a", 40) + `"... is not a topic name: Kafka allows 249 characters, not 250`},
		{"empty", "", `"" is not a topic name: Kafka allows letters, digits, ".", "_" and "-", at least one`},
		{"one dot", ".", `"." is not a topic name: Kafka reserves it`},
		{"two dots", "..", `".." is not a topic name: Kafka reserves it`},
		{"space", "loan overdue", `"loan overdue" is not a topic name: Kafka allows letters, digits, ".", "_" and "-", at least one`},
		{"line break at the end", "loan\n", `"loan\n" is not a topic name: Kafka allows letters, digits, ".", "_" and "-", at least one`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := CheckTopicName(tt.topic); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
