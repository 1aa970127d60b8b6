package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

const (
	formatBound = time.Minute
	startBound  = 3 * time.Minute // from the start of a node until it answers: 2 s alone, 45 s on a crowded machine
	stopGrace   = 15 * time.Second
)

// node is one Kafka server: broker and controller in one JVM.
type node struct {
	java, jars string
	clusterID  string
	id         int32
	addr       string // where clients connect
	dir        string // properties, log and data
	proc       *Process

	adminAddr   string // where everything is allowed, with this configuration
	adminConfig *sarama.Config
}

func (n *node) properties() string { return filepath.Join(n.dir, "server.properties") }
func (n *node) log() string        { return filepath.Join(n.dir, "server.log") }

// jvm returns the command of a main class among Kafka's jars. The quick compiler
// alone (tier 1) halves the processor time of a start, from 3.7 s to 2.2 s, which
// counts on a machine of two cores; a longer list of flags brought nothing.
func (n *node) jvm(ctx context.Context, args ...string) *exec.Cmd {
	flags := []string{
		"-Xmx512m",
		"-XX:TieredStopAtLevel=1",
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-cp", filepath.Join(n.jars, "*"),
	}
	return exec.CommandContext(ctx, n.java, append(flags, args...)...)
}

// format prepares the empty data directory for the cluster.
func (n *node) format() error {
	ctx, cancel := context.WithTimeout(context.Background(), formatBound)
	defer cancel()
	format := n.jvm(ctx, "kafka.tools.StorageTool", "format", "-t", n.clusterID, "-c", n.properties())
	if output, err := format.CombinedOutput(); err != nil {
		return fmt.Errorf("format the data of Kafka node %d: %w\n%s", n.id, err, output)
	}
	return nil
}

func (n *node) start() (err error) {
	server := n.jvm(context.Background(), "kafka.Kafka", n.properties())
	n.proc, err = StartProcess(server, n.log())
	return err
}

// waitReady returns once the node, asked for the brokers of its cluster, names
// itself.
func (n *node) waitReady() error {
	err := poll(pollInterval, startBound, fmt.Sprintf("Kafka node %d at %s", n.id, n.addr), func() (bool, error) {
		if !n.proc.Running() {
			return false, fmt.Errorf("Kafka node %d ended: %v", n.id, n.proc.err)
		}
		return n.answers(), nil
	})
	if err != nil {
		return fmt.Errorf("%w\nthe end of its log:\n%s", err, n.proc.Tail())
	}
	return nil
}

func (n *node) answers() bool {
	broker := sarama.NewBroker(n.adminAddr)
	if err := broker.Open(n.adminConfig); err != nil {
		return false
	}
	defer broker.Close()
	metadata, err := broker.GetMetadata(sarama.NewMetadataRequest(sarama.MaxVersion, []string{}))
	if err != nil {
		return false
	}
	if metadata.ClusterID == nil || *metadata.ClusterID != n.clusterID {
		return false // somebody else's node, at the same port
	}
	return slices.ContainsFunc(metadata.Brokers, func(b *sarama.Broker) bool { return b.ID() == n.id })
}

// warmUp has the cluster create its internal topics, which it otherwise does when
// the first group and the first transaction ask for a coordinator. sarama meets
// that by waiting 2 s (v1.61.1, client.go:1287), and where transactions come first
// as long as its metadata retries last, since it looks at the groups' topic.
func (n *node) warmUp() error {
	broker := sarama.NewBroker(n.adminAddr)
	if err := broker.Open(n.adminConfig); err != nil {
		return err
	}
	defer broker.Close()
	for _, kind := range []sarama.CoordinatorType{sarama.CoordinatorGroup, sarama.CoordinatorTransaction} {
		request := &sarama.FindCoordinatorRequest{Version: 2, CoordinatorKey: "warm-up", CoordinatorType: kind}
		err := poll(pollInterval, startBound, "a coordinator", func() (bool, error) {
			response, err := broker.FindCoordinator(request)
			return err == nil && response.Err == sarama.ErrNoError, err
		})
		if err != nil {
			return fmt.Errorf("make the internal topics of Kafka: %w", err)
		}
	}
	return nil
}

// portTaken reports whether the node ended because somebody else listens at one
// of its ports.
func (n *node) portTaken() bool {
	content, err := os.ReadFile(n.log())
	return err == nil && strings.Contains(string(content), "Address already in use")
}

// writeProperties writes the configuration of a node of a cluster with size
// nodes. controllerAddr is where this node's controller listens, voters names all
// controllers.
func (n *node) writeProperties(size int, controllerAddr, voters string) error {
	replicas, inSync := size, max(1, size-1)
	text := fmt.Sprintf(`process.roles=broker,controller
node.id=%d
controller.quorum.voters=%s
listeners=PLAINTEXT://%s,CONTROLLER://%s
advertised.listeners=PLAINTEXT://%s
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=%s
auto.create.topics.enable=false
default.replication.factor=%d
min.insync.replicas=%d
offsets.topic.replication.factor=%d
transaction.state.log.replication.factor=%d
transaction.state.log.min.isr=%d
broker.session.timeout.ms=%d
`, n.id, voters, n.addr, controllerAddr, n.addr, filepath.Join(n.dir, "data"),
		replicas, inSync, replicas, replicas, inSync, brokerSilence.Milliseconds())
	return os.WriteFile(n.properties(), []byte(text+lightProperties), 0o644)
}

// brokerSilence is how long a broker may be silent until its partitions and groups move
// to another one. It is longer than Kafka's 9 s: tests look at what retryd says
// meanwhile, on machines of any speed, and until a session has ended for want of its
// coordinator takes a member 28 s.
const brokerSilence = 45 * time.Second

// lightProperties make a cluster of a few small topics cheap to start, to run and
// to clear, and let groups form and expire quickly. They change nothing that
// retryd relies on.
const lightProperties = `offsets.topic.num.partitions=4
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
log.index.size.max.bytes=1048576
log.segment.delete.delay.ms=1000
log.cleaner.dedupe.buffer.size=4194304
num.network.threads=2
num.io.threads=4
num.recovery.threads.per.data.dir=1
`
