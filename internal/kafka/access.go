package kafka

import (
	"errors"
	"fmt"

	"github.com/IBM/sarama"
)

// Operation is something that Kafka lets a client do with a topic, a group or the
// cluster, spelled as kafka-acls.sh spells it.
type Operation string

// The operations of Kafka's authorizer (org.apache.kafka.common.acl.AclOperation).
const (
	Read            Operation = "Read"
	Write           Operation = "Write"
	Create          Operation = "Create"
	Delete          Operation = "Delete"
	Alter           Operation = "Alter"
	Describe        Operation = "Describe"
	ClusterAction   Operation = "ClusterAction"
	DescribeConfigs Operation = "DescribeConfigs"
	AlterConfigs    Operation = "AlterConfigs"
	IdempotentWrite Operation = "IdempotentWrite"
)

// errSilent is of brokers that do not tell what they allow.
var errSilent = errors.New("the brokers do not tell what this client may do: that takes Kafka 2.3 (KIP-430)")

// operations reads the bit field of KIP-430, in which an operation has the bit of
// its number.
func operations(bits int32) []Operation {
	var allowed []Operation
	for op := sarama.AclOperationRead; op <= sarama.AclOperationIdempotentWrite; op++ {
		if bits>>op&1 == 1 {
			allowed = append(allowed, Operation(op.String()))
		}
	}
	return allowed
}

// TopicAccess returns what this client may do with each topic, whether it exists or
// not: everything on a cluster without an authorizer, nothing where it lacks
// Describe, without which Kafka does not tell. Create on the cluster, which allows
// to create any topic, is not among a topic's operations: see ClusterAccess.
func (c *Cluster) TopicAccess(names ...string) (map[string][]Operation, error) {
	if len(names) == 0 {
		return nil, nil // the protocol would return all there are
	}
	req := sarama.NewMetadataRequest(c.client.Config().Version, names)
	req.IncludeTopicAuthorizedOperations = true
	resp, err := anyBroker(c, func(b *sarama.Broker) (*sarama.MetadataResponse, error) { return b.GetMetadata(req) })
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask what may be done with topics: %w", err)
	case req.Version < 8: // negotiated
		return nil, errSilent
	}
	access := make(map[string][]Operation, len(names))
	for _, t := range resp.Topics {
		switch t.Err {
		case sarama.ErrNoError, sarama.ErrLeaderNotAvailable, sarama.ErrUnknownTopicOrPartition:
			access[t.Name] = operations(t.TopicAuthorizedOperations)
		case sarama.ErrTopicAuthorizationFailed:
			access[t.Name] = nil
		default:
			return nil, fmt.Errorf("ask what may be done with topic %s: %w", t.Name, t.Err)
		}
	}
	return access, nil
}

// ClusterAccess returns what this client may do with the cluster as a whole:
// nothing where it lacks Describe on it, without which Kafka does not tell.
func (c *Cluster) ClusterAccess() ([]Operation, error) {
	req := sarama.NewDescribeClusterRequest(c.client.Config().Version)
	req.IncludeClusterAuthorizedOperations = true
	resp, err := anyBroker(c, func(b *sarama.Broker) (*sarama.DescribeClusterResponse, error) { return b.DescribeCluster(req) })
	if err == nil && !errors.Is(resp.Err, sarama.ErrNoError) {
		err = resp.Err
	}
	if err != nil {
		return nil, fmt.Errorf("ask what may be done with the cluster: %w", err)
	}
	return operations(resp.ClusterAuthorizedOperations), nil
}

// anyBroker sends a request that every broker answers. After an error another
// broker, or a new connection, is used the next time.
func anyBroker[R any](c *Cluster, ask func(*sarama.Broker) (R, error)) (R, error) {
	broker, err := c.client.Controller()
	if err != nil {
		var none R
		return none, err
	}
	resp, err := ask(broker)
	if err != nil {
		_, _ = c.client.RefreshController()
	}
	return resp, err
}
