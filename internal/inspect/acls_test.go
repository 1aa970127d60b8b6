package inspect

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/kafka"
)

func loadText(t *testing.T, text string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "retryd.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestACLs(t *testing.T) {
	ops := func(o ...kafka.Operation) []kafka.Operation { return o }
	consumed := ops(kafka.Read, kafka.DescribeConfigs)
	tier := ops(kafka.Read, kafka.Write, kafka.DescribeConfigs, kafka.Create, kafka.Alter)
	dead := ops(kafka.Write, kafka.DescribeConfigs, kafka.Create, kafka.Alter)
	read := ops(kafka.Read)
	control := ACL{ResourceTopic, "retryd.control", Literal, ops(kafka.Read, kafka.Write, kafka.DescribeConfigs, kafka.Create)}
	tests := []struct {
		name, text string
		want       []ACL // of the relay
		shared     ACL
	}{
		{"one relay", `
relays:
  - {topic: a, endpoint: {url: "http://127.0.0.1/"}, tiers: [5s, 30s]}
`, []ACL{
			{ResourceTopic, "a", Literal, consumed},
			{ResourceTopic, "a.retry.", Prefixed, tier},
			{ResourceTopic, "a.DLT", Literal, dead},
			{ResourceGroup, "retryd-a", Literal, read},
			{ResourceGroup, "retryd-a-retry-", Prefixed, read},
		}, control},
		{"topics are only checked", `
topics: {create: false}
relays:
  - {topic: a, endpoint: {url: "http://127.0.0.1/"}, tiers: [5s]}
`, []ACL{
			{ResourceTopic, "a", Literal, consumed},
			{ResourceTopic, "a.retry.", Prefixed, ops(kafka.Read, kafka.Write, kafka.DescribeConfigs)},
			{ResourceTopic, "a.DLT", Literal, ops(kafka.Write, kafka.DescribeConfigs)},
			{ResourceGroup, "retryd-a", Literal, read},
			{ResourceGroup, "retryd-a-retry-", Prefixed, read},
		}, ACL{ResourceTopic, "retryd.control", Literal, ops(kafka.Read, kafka.Write, kafka.DescribeConfigs)}},
		{"the application reads main itself", `
relays:
  - {topic: a, consume: false, endpoint: {url: "http://127.0.0.1/"}, tiers: [5s]}
`, []ACL{
			{ResourceTopic, "a", Literal, ops(kafka.Describe, kafka.DescribeConfigs)},
			{ResourceTopic, "a.retry.", Prefixed, tier},
			{ResourceTopic, "a.DLT", Literal, dead},
			{ResourceGroup, "retryd-a-retry-", Prefixed, read},
		}, control},
		{"names of their own", `
relays:
  - topic: a
    prefix: p
    group: g
    dlt: {topic: dead}
    endpoint: {url: "http://127.0.0.1/"}
    tiers: [{delay: 5s, topic: slow}, {delay: 9s, topic: p.retry.late}]
`, []ACL{
			{ResourceTopic, "a", Literal, consumed},
			{ResourceTopic, "p.retry.", Prefixed, tier},
			{ResourceTopic, "slow", Literal, tier},
			{ResourceTopic, "dead", Literal, dead},
			{ResourceGroup, "g", Literal, read},
			{ResourceGroup, "g-retry-", Prefixed, read},
		}, control},
		{"park topics", `
relays:
  - {topic: a, endpoint: {url: "http://127.0.0.1/"}, tiers: [5s], park: [24h, {delay: 1h, topic: hour}]}
`, []ACL{
			{ResourceTopic, "a", Literal, consumed},
			{ResourceTopic, "a.retry.", Prefixed, tier},
			{ResourceTopic, "hour", Literal, tier},
			{ResourceTopic, "a.park.24h", Literal, tier},
			{ResourceTopic, "a.DLT", Literal, dead},
			{ResourceGroup, "retryd-a", Literal, read},
			{ResourceGroup, "retryd-a-retry-", Prefixed, read},
		}, control},
		{"a review topic", `
relays:
  - {topic: a, endpoint: {url: "http://127.0.0.1/"}, tiers: [5s], review: {enabled: true}}
`, []ACL{
			{ResourceTopic, "a", Literal, consumed},
			{ResourceTopic, "a.retry.", Prefixed, tier},
			{ResourceTopic, "a.DLT", Literal, dead},
			{ResourceTopic, "a.review", Literal, dead},
			{ResourceGroup, "retryd-a", Literal, read},
			{ResourceGroup, "retryd-a-retry-", Prefixed, read},
		}, control},
		{"quarantine topics", `
relays:
  - topic: a
    endpoint:
      url: "http://127.0.0.1/"
      rules: [{status: 415, action: dead_letter, dlt: bad}, {status: 422, action: dead_letter, dlt: bad}, {status: 410, action: dead_letter, dlt: gone}]
    tiers: [5s]
`, []ACL{
			{ResourceTopic, "a", Literal, consumed},
			{ResourceTopic, "a.retry.", Prefixed, tier},
			{ResourceTopic, "a.DLT", Literal, dead},
			{ResourceTopic, "bad", Literal, dead},
			{ResourceTopic, "gone", Literal, dead},
			{ResourceGroup, "retryd-a", Literal, read},
			{ResourceGroup, "retryd-a-retry-", Prefixed, read},
		}, control},
		{"no tier of a usual name, but perhaps a retired one", `
relays:
  - {topic: a, endpoint: {url: "http://127.0.0.1/"}, tiers: []}
`, []ACL{
			{ResourceTopic, "a", Literal, consumed},
			{ResourceTopic, "a.retry.", Prefixed, read},
			{ResourceTopic, "a.DLT", Literal, dead},
			{ResourceGroup, "retryd-a", Literal, read},
			{ResourceGroup, "retryd-a-retry-", Prefixed, read},
		}, control},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(append(tt.want, tt.shared), ACLs(loadText(t, tt.text))); diff != "" {
				t.Errorf("ACLs (-want +got):\n%s", diff)
			}
		})
	}
}
