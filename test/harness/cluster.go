package harness

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"
)

// portRounds is how often a cluster is started anew because another process took
// one of its ports in the moment between finding and using it.
const portRounds = 3

// Cluster is a running Apache Kafka of one or three nodes on 127.0.0.1, each
// broker and controller in one. Kill and Restart may not be called at the same
// time as one another or as Stop.
type Cluster struct {
	dir   string
	nodes []*node
}

// StartKafka runs a cluster of n nodes for one test and stops it at its end.
// Starting takes seconds: a Suite shares one among the tests of a package.
func StartKafka(t testing.TB, n int) *Cluster {
	t.Helper()
	c, err := NewCluster(n)
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

// NewCluster starts a cluster of n nodes (1 or 3) and returns once every node
// answers. With three nodes topics have three replicas, two of which must be in
// sync. The caller stops the cluster. The jars are fetched by Maven at the first
// use on a machine; what is missing for that or for running them is an error
// that says what to install.
func NewCluster(n int) (*Cluster, error) {
	return startCluster(func(java, jars string) (*Cluster, error) { return newCluster(n, java, jars) })
}

func startCluster(layOut func(java, jars string) (*Cluster, error)) (*Cluster, error) {
	java, err := findJava()
	if err != nil {
		return nil, err
	}
	jars, err := kafkaJars()
	if err != nil {
		return nil, err
	}
	for round := 1; ; round++ {
		c, err := layOut(java, jars)
		if err != nil {
			return nil, err
		}
		err = c.start()
		if err == nil {
			return c, nil
		}
		taken := c.portTaken()
		err = errors.Join(err, c.Stop())
		if !taken || round == portRounds {
			return nil, err
		}
	}
}

// newCluster lays out a cluster that does not run yet.
func newCluster(n int, java, jars string) (*Cluster, error) {
	addrs, err := FreeAddrs(2 * n)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "retryd-kafka-")
	if err != nil {
		return nil, fmt.Errorf("make the folder of a Kafka cluster: %w", err)
	}
	c := &Cluster{dir: dir}
	clients, controllers := addrs[:n], addrs[n:]
	clusterID := newClusterID()
	for i := range n {
		node := &node{
			java: java, jars: jars, clusterID: clusterID, id: int32(i + 1),
			addr: clients[i], dir: filepath.Join(dir, fmt.Sprint(i+1)),
			adminAddr: clients[i], adminConfig: ClientConfig(),
		}
		c.nodes = append(c.nodes, node)
		err = errors.Join(err, os.Mkdir(node.dir, 0o755), node.writeProperties(n, controllers[i], voters(controllers)))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lay out a Kafka cluster: %w", err), os.RemoveAll(dir))
	}
	return c, nil
}

// voters spells the controllers as controller.quorum.voters wants them.
func voters(controllers []string) string {
	list := make([]string, len(controllers))
	for i, addr := range controllers {
		list[i] = fmt.Sprintf("%d@%s", i+1, addr)
	}
	return strings.Join(list, ",")
}

func (c *Cluster) start() error {
	var formats errgroup.Group
	for _, n := range c.nodes {
		formats.Go(n.format)
	}
	if err := formats.Wait(); err != nil {
		return err
	}
	for _, n := range c.nodes {
		if err := n.start(); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		if err := n.waitReady(); err != nil {
			return err
		}
	}
	return c.nodes[0].warmUp()
}

// newClusterID returns 16 random bytes as Kafka spells ids. The first bit is 0,
// so that the id never begins with a dash and reads as an option.
func newClusterID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails: it crashes the process instead
	id[0] &= 0x7f
	return base64.RawURLEncoding.EncodeToString(id[:])
}

func (c *Cluster) portTaken() bool {
	for _, n := range c.nodes {
		if n.portTaken() {
			return true
		}
	}
	return false
}

// Addrs returns the brokers as host:port, in the order of the index that Kill and
// Restart take.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		addrs[i] = n.addr
	}
	return addrs
}

// Kill ends node i (0-based) with SIGKILL.
func (c *Cluster) Kill(i int) error { return c.nodes[i].proc.Kill() }

// Freeze stops node i (0-based) as it stands: it keeps its connections and takes new
// ones, and answers nobody until the test ends.
func (c *Cluster) Freeze(t testing.TB, i int) {
	t.Helper()
	node := c.nodes[i].proc
	if err := node.signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	})
}

// Restart starts node i (0-based) at its old address with its old data, after
// stopping it if it runs, and returns once it answers again.
func (c *Cluster) Restart(i int) error {
	n := c.nodes[i]
	if _, err := n.proc.Terminate(stopGrace); err != nil {
		return err
	}
	if err := n.start(); err != nil {
		return err
	}
	return n.waitReady()
}

// Stop stops all nodes and deletes their data. A node that does not stop within
// 15 s is killed: the last of three waits for a quorum that is gone. Stopping
// twice does nothing.
func (c *Cluster) Stop() error {
	var stops errgroup.Group
	for _, n := range c.nodes {
		if n.proc != nil {
			stops.Go(func() error { _, err := n.proc.Terminate(stopGrace); return err })
		}
	}
	return errors.Join(stops.Wait(), os.RemoveAll(c.dir))
}
