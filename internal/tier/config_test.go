package tier

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/policy"
)

// validConfig is a resolved relay without problems.
func validConfig(change func(*Config)) Config {
	c := DefaultConfig()
	c.Topic = "orders"
	c.Endpoint.URL = "http://127.0.0.1:8080/"
	c.Policy.Tiers.List = []policy.Tier{{Delay: time.Second}, {Delay: time.Minute, Topic: "slow"}}
	change(&c)
	c.Resolve()
	return c
}

func TestConfigResolve(t *testing.T) {
	type names struct{ Name, Group, Prefix, DLT string }
	tests := []struct {
		name   string
		change func(*Config)
		want   names
	}{
		{"everything from the topic", func(*Config) {}, names{"orders", "retryd-orders", "orders", "orders.DLT"}},
		{"group from the name", func(c *Config) { c.Name = "n" }, names{"n", "retryd-n", "orders", "orders.DLT"}},
		{"dead-letter topic from the prefix", func(c *Config) { c.Prefix = "p" }, names{"orders", "retryd-orders", "p", "p.DLT"}},
		{"nothing that is set", func(c *Config) {
			c.Name, c.Group, c.Prefix, c.DLT.Topic = "n", "g", "p", "d"
		}, names{"n", "g", "p", "d"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := validConfig(tt.change)
			if diff := cmp.Diff(tt.want, names{c.Name, c.Group, c.Prefix, c.DLT.Topic}); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigTierNames(t *testing.T) {
	c := validConfig(func(c *Config) { c.Group = "g" })
	topics := c.TierTopics()
	if diff := cmp.Diff([]string{"orders.retry.1", "slow"}, topics); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
	if got, want := c.TierGroup(topics[0]), "g-retry-orders.retry.1"; got != want {
		t.Errorf("group %s, want %s", got, want)
	}
}

func TestConfigTierTopicsOfGeneratedTiers(t *testing.T) {
	c := validConfig(func(c *Config) {
		c.Policy.Tiers = policy.Tiers{}
		c.Policy.Backoff = policy.Backoff{Base: time.Second, Factor: 2, Max: time.Minute, Attempts: 4}
	})
	if diff := cmp.Diff([]string{"orders.retry.1", "orders.retry.2", "orders.retry.3"}, c.TierTopics()); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
}

func TestConfigValidate(t *testing.T) {
	const charset = `Kafka allows letters, digits, ".", "_" and "-", at least one`
	long := strings.Repeat("p", 249)
	tests := []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"valid", func(*Config) {}, nil},
		{"start", func(c *Config) { c.Start = "latest" }, nil},
		{"start at a time with an offset", func(c *Config) { c.Start = "2026-01-31T08:00:00.5+02:00" }, nil},
		{"no topic", func(c *Config) { c.Topic = "" }, []string{`topic: missing: name the main topic`}},
		{"a wrong topic is not wrong again where names derive from it", func(c *Config) { c.Topic = "a b" }, []string{
			`topic: "a b" is not a topic name: ` + charset,
		}},
		{"wrong names", func(c *Config) {
			c.Name, c.Group, c.Prefix, c.DLT.Topic = "ä", "a\tb", "..", "d!"
			c.Policy.Tiers.List[1].Topic = "s!"
			c.Policy.Park = []policy.Park{{Delay: time.Hour}, {Delay: time.Minute, Topic: "p!"}}
			c.Review = Review{true, "r!"}
		}, []string{
			`prefix: ".." is not a topic name: Kafka reserves it`,
			`tiers[1].topic: "s!" is not a topic name: ` + charset,
			`park[1].topic: "p!" is not a topic name: ` + charset,
			`dlt.topic: "d!" is not a topic name: ` + charset,
			`review.topic: "r!" is not a topic name: ` + charset,
			`name: "ä" must be letters, digits, ".", "_" and "-", at least one`,
			`group: "a\tb" must be 1 to 249 visible ASCII characters`,
		}},
		{"longest prefix", func(c *Config) { c.Prefix = long[:241] }, nil}, // 241 + len(".retry.1") = 249
		{"prefix too long for a tier", func(c *Config) { c.Prefix = long[:242] }, []string{
			`prefix: 242 characters are too many for names like <prefix>.retry.1, which have at most 249; set a shorter prefix`,
		}},
		{"prefix too long for a park topic", func(c *Config) {
			c.Prefix, c.Policy.Park = long[:240], []policy.Park{{Delay: 10 * time.Minute}} // 240 + len(".park.10m") = 249
		}, nil},
		{"prefix too long for a longer park topic", func(c *Config) {
			c.Prefix, c.Policy.Park = long[:240], []policy.Park{{Delay: 90 * time.Minute}, {Delay: 10 * time.Minute}}
		}, []string{
			`prefix: 240 characters are too many for names like <prefix>.retry.1, which have at most 249; set a shorter prefix`,
		}},
		{"prefix too long for the dead-letter topic", func(c *Config) {
			c.Prefix = long[:246]
			c.Policy.Tiers.List = []policy.Tier{}
		}, []string{
			`prefix: 246 characters are too many for names like <prefix>.retry.1, which have at most 249; set a shorter prefix`,
		}},
		{"prefix too long for the review topic", func(c *Config) {
			c.Prefix, c.Review.Enabled = long[:243], true
			c.Policy.Tiers.List = []policy.Tier{}
		}, []string{
			`prefix: 243 characters are too many for names like <prefix>.retry.1, which have at most 249; set a shorter prefix`,
		}},
		{"a review topic that is not enabled", func(c *Config) { c.Review.Topic = "r" }, []string{
			`review.topic: nothing is written there without review.enabled: true; set that, or remove this key`,
		}},
		{"long prefix that no name uses", func(c *Config) {
			c.Prefix, c.DLT.Topic = long, "d"
			c.Policy.Tiers.List = []policy.Tier{{Topic: "x"}}
		}, nil},
		{"group too long", func(c *Config) { c.Group = strings.Repeat("g", 250) }, []string{
			`group: "` + strings.Repeat("g", 250) + `" must be 1 to 249 visible ASCII characters`,
		}},
		{"start without a main group", func(c *Config) { c.Consume, c.Start = false, "earliest" }, []string{
			`start: has no meaning with consume: false, which has no group on the main topic; remove one of the two`,
		}},
		{"start that is no time", func(c *Config) { c.Start = "2026-01-31" }, []string{
			`start: "2026-01-31" is not earliest, latest or an RFC 3339 time, as in 2026-01-31T08:00:00Z`,
		}},
		{"ordering of a later version", func(c *Config) { c.Ordering = "partition" }, []string{
			`ordering: partition is not available in this version; use none`,
		}},
		{"unknown ordering", func(c *Config) { c.Ordering = "" }, []string{`ordering: "" is no kind of ordering; use none`}},
		{"event id headers", func(c *Config) { c.EventIDHeaders = []string{"a", "<b"} }, []string{
			`event_id_headers[1]: event id source "<b" is neither a header name nor two as <first>/<second>`,
		}},
		{"endpoint and schedule", func(c *Config) { c.Endpoint.Timeout, c.Policy.Lifetime = 0, 0 }, []string{
			`endpoint.timeout: is 0s, must be positive`,
			`lifetime: 0s is not positive; the default is 72h0m0s`,
		}},
		{"park topics", func(c *Config) { c.Policy.Park = []policy.Park{{}} }, []string{
			`park[0].delay: 0s is too short; a park topic is for waits of at least 1m0s`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, err := range validConfig(tt.change).Validate() {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
