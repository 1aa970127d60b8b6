package inspect

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// startGuarded runs a broker that grants no more than it is told to.
func startGuarded(t *testing.T, topics []string, grants ...kfake.ACL) *scene {
	for i := range grants {
		grants[i].Allow = true
	}
	return startScene(t, kfake.EnableACLs(), kfake.User("PLAIN", "ANONYMOUS", "unused", grants...), kfake.SeedTopics(1, topics...))
}

func grant(resource kmsg.ACLResourceType, name string, pattern kmsg.ACLResourcePatternType, ops ...kmsg.ACLOperation) []kfake.ACL {
	var acls []kfake.ACL
	for _, op := range ops {
		acls = append(acls, kfake.ACL{Resource: resource, Name: name, Pattern: pattern, Operation: op})
	}
	return acls
}

// enough grants what retryd topics --acls prints for the relay.
func enough(t *testing.T) []kfake.ACL {
	var acls []kfake.ACL
	resources := map[Resource]kmsg.ACLResourceType{ResourceTopic: kmsg.ACLResourceTypeTopic, ResourceGroup: kmsg.ACLResourceTypeGroup}
	patterns := map[Pattern]kmsg.ACLResourcePatternType{Literal: kmsg.ACLResourcePatternTypeLiteral, Prefixed: kmsg.ACLResourcePatternTypePrefixed}
	for _, a := range ACLs(loadText(t, strings.NewReplacer("BROKER", "127.0.0.1:1").Replace(one))) {
		for _, op := range a.Operations {
			parsed, err := kmsg.ParseACLOperation(string(op))
			if err != nil {
				t.Fatal(err)
			}
			acls = append(acls, grant(resources[a.Resource], a.Name, patterns[a.Pattern], parsed)...)
		}
	}
	return acls
}

func TestConnectIsContentWithTheLeastAccess(t *testing.T) {
	s := startGuarded(t, []string{"loans"}, enough(t)...)
	got := s.connect(t, one)
	if strings.Contains(got, "fail ") {
		t.Errorf("failures with the rights that are printed:\n%s", got)
	}
	requireLine(t, "ok loans access: everything that the relay needs is granted", got)
}

func TestConnectNamesMissingAccess(t *testing.T) {
	const literal = kmsg.ACLResourcePatternTypeLiteral
	var acls []kfake.ACL
	acls = append(acls, grant(kmsg.ACLResourceTypeTopic, "loans", literal, kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs)...)
	acls = append(acls, grant(kmsg.ACLResourceTypeTopic, "loans.retry.1", literal, kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationDescribeConfigs)...)
	acls = append(acls, grant(kmsg.ACLResourceTypeTopic, "loans.DLT", literal, kmsg.ACLOperationWrite)...)
	acls = append(acls, grant(kmsg.ACLResourceTypeGroup, "retryd-loans", literal, kmsg.ACLOperationRead)...)
	acls = append(acls, grant(kmsg.ACLResourceTypeGroup, "retryd-loans-retry-loans.retry.1", literal, kmsg.ACLOperationRead)...)
	s := startGuarded(t, []string{"loans", "loans.retry.1", "loans.DLT"}, acls...)
	got := s.connect(t, one)
	for _, want := range []string{
		"fail loans access: Read on topic loans is not granted: kafka-acls.sh --bootstrap-server BROKER --add --allow-principal TYPE:NAME --topic loans --operation Read (retryd topics --acls prints all)",
		"fail loans access: DescribeConfigs on topic loans.DLT is not granted: kafka-acls.sh --bootstrap-server BROKER --add --allow-principal TYPE:NAME --topic loans.DLT --operation DescribeConfigs (retryd topics --acls prints all)",
		"fail loans access: Read on group retryd-loans-retry-loans.retry.2 is not granted: kafka-acls.sh --bootstrap-server BROKER --add --allow-principal TYPE:NAME --group retryd-loans-retry-loans.retry.2 --operation Read (retryd topics --acls prints all)",
	} {
		requireLine(t, want, got)
	}
	if strings.Contains(got, "loans.retry.1 is not granted") {
		t.Errorf("a topic and a group with all rights lack some:\n%s", got)
	}
	if strings.Contains(got, "fail loans topics") {
		t.Errorf("what is missing is said twice:\n%s", got)
	}
}

func TestTopicsThatMayNotBeCreated(t *testing.T) {
	s := startGuarded(t, []string{"loans"}, slices.DeleteFunc(enough(t), func(a kfake.ACL) bool { return a.Operation == kmsg.ACLOperationCreate })...)
	got := s.connect(t, one)
	requireLine(t, "fail loans access: Create on topic loans.DLT is not granted: kafka-acls.sh --bootstrap-server BROKER --add --allow-principal TYPE:NAME --topic loans.DLT --operation Create (retryd topics --acls prints all)", got)
	if n := strings.Count(got, "fail "); n != 4 {
		t.Errorf("%d failures, want one for each missing topic:\n%s", n, got)
	}
}

func TestAGroupThatMayNotBeReadIsSaidOnce(t *testing.T) {
	s := startGuarded(t, []string{"loans"}, slices.DeleteFunc(enough(t), func(a kfake.ACL) bool { return a.Name == "retryd-loans" })...)
	got := s.connect(t, one)
	requireLine(t, "fail loans access: Read on group retryd-loans is not granted: kafka-acls.sh --bootstrap-server BROKER --add --allow-principal TYPE:NAME --group retryd-loans --operation Read (retryd topics --acls prints all)", got)
	if n := strings.Count(got, "fail "); n != 1 || strings.Contains(got, " start: ") {
		t.Errorf("%d failures, want one, and no word of the start:\n%s", n, got)
	}
}

func TestMissingTopicsMayBeCreatedByARightOnTheCluster(t *testing.T) {
	acls := enough(t)
	for i := range acls {
		if acls[i].Operation == kmsg.ACLOperationCreate {
			acls[i] = grant(kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLResourcePatternTypeLiteral, kmsg.ACLOperationCreate)[0]
		}
	}
	acls = append(acls, grant(kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLResourcePatternTypeLiteral, kmsg.ACLOperationDescribe)...)
	s := startGuarded(t, []string{"loans"}, acls...)
	requireLine(t, "ok loans access: everything that the relay needs is granted", s.connect(t, one))
}

func TestOldBrokersDoNotTellTheAccess(t *testing.T) {
	s := startScene(t, kfake.SeedTopics(1, "loans"), kfake.MaxVersions(kversion.V2_2_0()))
	got := s.connect(t, one)
	requireLine(t, "warn loans access: the brokers do not tell what this client may do: that takes Kafka 2.3 (KIP-430)", got)
	requireLine(t, "ok loans start: topic loans is empty: nothing to be read at first", got)
}
