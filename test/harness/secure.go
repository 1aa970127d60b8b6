package harness

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/IBM/sarama"
)

// SecureCluster is a running Apache Kafka of one node on 127.0.0.1 that lets
// clients at its address do only what they are granted: at first nothing. Its own
// methods are those of an administrator, who may do everything.
type SecureCluster struct {
	cluster  *Cluster
	client   sarama.Client
	admin    sarama.ClusterAdmin
	producer sarama.SyncProducer
}

// StartSecureKafka runs such a cluster for one test and stops it at its end.
func StartSecureKafka(t testing.TB) *SecureCluster {
	t.Helper()
	c, err := NewSecureCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// NewSecureCluster starts the cluster and returns once it answers. The caller
// stops it.
func NewSecureCluster() (*SecureCluster, error) {
	cluster, err := startCluster(newSecureCluster)
	if err != nil {
		return nil, err
	}
	c := &SecureCluster{cluster: cluster}
	if err := c.connect(); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to the secure Kafka: %w", err), c.Stop())
	}
	return c, nil
}

func (c *SecureCluster) connect() (err error) {
	n := c.cluster.nodes[0]
	if c.client, err = sarama.NewClient([]string{n.adminAddr}, n.adminConfig); err != nil {
		return err
	}
	if c.admin, err = sarama.NewClusterAdminFromClient(c.client); err != nil {
		return err
	}
	c.producer, err = sarama.NewSyncProducerFromClient(c.client)
	return err
}

// Stop stops the cluster and deletes its data.
func (c *SecureCluster) Stop() error {
	var errs []error
	if c.producer != nil {
		errs = append(errs, c.producer.Close())
	}
	if c.client != nil {
		errs = append(errs, c.client.Close())
	}
	return errors.Join(append(errs, c.cluster.Stop())...)
}

// Addrs returns where clients connect, as host:port.
func (c *SecureCluster) Addrs() []string { return c.cluster.Addrs() }

// CreateTopic makes a topic and returns once every partition has a leader.
func (c *SecureCluster) CreateTopic(t testing.TB, name string, partitions int32) {
	t.Helper()
	if err := createTopic(c.client, c.admin, name, partitions, nil); err != nil {
		t.Fatalf("create topic %s: %v", name, err)
	}
}

// Write writes one record and returns once it is acknowledged.
func (c *SecureCluster) Write(t testing.TB, topic, value string) {
	t.Helper()
	_, _, err := c.producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)})
	if err != nil {
		t.Fatalf("write to topic %s: %v", topic, err)
	}
}

// Records returns how many records partition 0 of a topic got so far, 0 if there is
// no such topic.
func (c *SecureCluster) Records(t testing.TB, topic string) int64 {
	t.Helper()
	end, err := c.client.GetOffset(topic, 0, sarama.OffsetNewest)
	if err != nil && !errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		t.Fatalf("count the records of topic %s: %v", topic, err)
	}
	return max(end, 0)
}

// newSecureCluster lays out the cluster. Clients connect without authentication.
// The administrator, the broker and the controller meet at listeners that ask for a
// password: whom they let in is the only one who may do everything.
func newSecureCluster(java, jars string) (*Cluster, error) {
	addrs, err := FreeAddrs(2)
	if err != nil {
		return nil, err
	}
	c, err := newCluster(1, java, jars)
	if err != nil {
		return nil, err
	}
	n := c.nodes[0]
	n.adminAddr, n.adminConfig = addrs[0], adminConfig()
	if err := n.secure(addrs[1]); err != nil {
		return nil, errors.Join(fmt.Errorf("lay out a secure Kafka: %w", err), os.RemoveAll(c.dir))
	}
	return c, nil
}

const (
	adminName     = "broker"
	adminPassword = "only-for-tests"
)

func adminConfig() *sarama.Config {
	c := ClientConfig()
	c.Net.SASL.Enable, c.Net.SASL.Mechanism = true, sarama.SASLTypePlaintext
	c.Net.SASL.User, c.Net.SASL.Password = adminName, adminPassword
	c.Metadata.Retry.Max = 1 // a topic that is missing is not waited for
	return c
}

// secure overrules properties of the node: the last value of a key counts.
func (n *node) secure(controllerAddr string) error {
	login := fmt.Sprintf(`org.apache.kafka.common.security.plain.PlainLoginModule required username=%q password=%q user_%[1]s=%[2]q;`,
		adminName, adminPassword)
	text := fmt.Sprintf(`controller.quorum.voters=%d@%[2]s
listeners=PLAINTEXT://%[3]s,INTERNAL://%[4]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[3]s,INTERNAL://%[4]s
inter.broker.listener.name=INTERNAL
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INTERNAL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
sasl.mechanism.controller.protocol=PLAIN
listener.name.internal.plain.sasl.jaas.config=%[5]s
listener.name.controller.plain.sasl.jaas.config=%[5]s
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:%[6]s
`, n.id, controllerAddr, n.addr, n.adminAddr, login, adminName)
	file, err := os.OpenFile(n.properties(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
