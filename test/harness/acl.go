package harness

import (
	"fmt"
	"testing"

	"github.com/IBM/sarama"
)

// anonymous is the principal of a client that connects as most tests do, without
// any authentication.
const anonymous = "User:ANONYMOUS"

// Topic returns a topic as the resource that access is granted to.
func Topic(name string) sarama.Resource {
	return sarama.Resource{ResourceType: sarama.AclResourceTopic, ResourceName: name, ResourcePatternType: sarama.AclPatternLiteral}
}

// Group returns a consumer group as the resource that access is granted to.
func Group(name string) sarama.Resource {
	return sarama.Resource{ResourceType: sarama.AclResourceGroup, ResourceName: name, ResourcePatternType: sarama.AclPatternLiteral}
}

// Grant allows clients an operation, and returns once that holds.
func (c *SecureCluster) Grant(t testing.TB, on sarama.Resource, op sarama.AclOperation) {
	t.Helper()
	c.rule(t, on, op, sarama.AclPermissionAllow)
}

// Deny forbids clients an operation, whatever they are granted, and returns once
// that holds.
func (c *SecureCluster) Deny(t testing.TB, on sarama.Resource, op sarama.AclOperation) {
	t.Helper()
	c.rule(t, on, op, sarama.AclPermissionDeny)
}

func (c *SecureCluster) rule(t testing.TB, on sarama.Resource, op sarama.AclOperation, permission sarama.AclPermissionType) {
	t.Helper()
	rule := &sarama.Acl{Principal: anonymous, Host: "*", Operation: op, PermissionType: permission}
	if err := c.admin.CreateACLs([]*sarama.ResourceAcls{{Resource: on, Acls: []*sarama.Acl{rule}}}); err != nil {
		t.Fatalf("%s %s on %s: %v", permission.String(), op.String(), on.ResourceName, err)
	}
	c.awaitRules(t, on, op, permission, true)
}

// Revoke takes back what Grant or Deny did, and returns once that holds.
func (c *SecureCluster) Revoke(t testing.TB, on sarama.Resource, op sarama.AclOperation) {
	t.Helper()
	if _, err := c.admin.DeleteACL(filter(on, op, sarama.AclPermissionAny), false); err != nil {
		t.Fatalf("revoke %s on %s: %v", op.String(), on.ResourceName, err)
	}
	c.awaitRules(t, on, op, sarama.AclPermissionAny, false)
}

// awaitRules waits until the broker that decides has a rule, or has it no more.
func (c *SecureCluster) awaitRules(t testing.TB, on sarama.Resource, op sarama.AclOperation, permission sarama.AclPermissionType, want bool) {
	t.Helper()
	WaitFor(t, adminBound, fmt.Sprintf("the access rules of %s", on.ResourceName), func() bool {
		found, err := c.admin.ListAcls(filter(on, op, permission))
		return err == nil && len(found) > 0 == want
	})
}

func filter(on sarama.Resource, op sarama.AclOperation, permission sarama.AclPermissionType) sarama.AclFilter {
	principal := anonymous
	return sarama.AclFilter{
		ResourceType: on.ResourceType, ResourceName: &on.ResourceName, ResourcePatternTypeFilter: on.ResourcePatternType,
		Principal: &principal, Operation: op, PermissionType: permission,
	}
}
