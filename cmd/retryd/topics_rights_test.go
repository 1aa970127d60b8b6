package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestTopicsWithoutTheRightToLook(t *testing.T) {
	var grants []kfake.ACL
	for _, op := range []kmsg.ACLOperation{kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs} {
		grants = append(grants, kfake.ACL{
			Resource: kmsg.ACLResourceTypeTopic, Name: "library.loan.overdue", Pattern: kmsg.ACLResourcePatternTypeLiteral,
			Operation: op, Allow: true,
		})
	}
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableACLs(), kfake.User("PLAIN", "ANONYMOUS", "unused", grants...),
		kfake.SeedTopics(2, "library.loan.overdue", "library.loan.overdue.retry.1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	b := broker{addr: fake.ListenAddrs()[0]}
	out := b.topics(t, "--config", b.file(t, ""))
	if out.Code != 1 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	golden(t, "topics/hidden.txt", out.Stdout)
}

func TestTopicsOfSeveralRelays(t *testing.T) {
	b := startBroker(t)
	b.create(t, "loans", 2)
	path := writeFile(t, fmt.Sprintf(`
kafka: {brokers: ["%s"]}
defaults: {endpoint: {url: "http://127.0.0.1:8080/"}}
relays:
  - {topic: loans, tiers: [5s, 30s]}
  - {topic: reminders, tiers: [1m]}
`, b.addr))
	out := b.topics(t, "--config", path)
	if out.Code != 1 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	golden(t, "topics/two-relays.txt", out.Stdout)
	if n := strings.Count(out.Stdout, "Nothing was changed."); n != 1 {
		t.Errorf("what was not done is said %d times", n)
	}
}
