package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

// guarded is a relay on a Kafka that allows its clients only what they are granted.
type guarded struct {
	kafka    *harness.SecureCluster
	topic    string
	endpoint *harness.Endpoint // refuses everything, so records walk the whole chain
	config   string
}

// newGuarded makes a main topic, and grants nothing.
func newGuarded(t *testing.T, kafka *harness.SecureCluster, partitions int32) *guarded {
	t.Helper()
	g := &guarded{kafka: kafka, topic: harness.TopicName(t), endpoint: harness.StartEndpoint(t, always(http.StatusServiceUnavailable))}
	kafka.CreateTopic(t, g.topic, partitions)
	c := &chain{topic: g.topic, endpoint: g.endpoint, delays: []time.Duration{20 * time.Millisecond, 20 * time.Millisecond}}
	g.config = configuration(kafka.Addrs(), "", c.relay("start: earliest"))
	return g
}

func (g *guarded) dlt() string       { return g.topic + ".DLT" }
func (g *guarded) tier(i int) string { return fmt.Sprintf("%s.retry.%d", g.topic, i) }
func (g *guarded) group() string     { return "retryd-" + g.topic }

// command runs retryd with this configuration, and returns what it printed and how
// it ended.
func (g *guarded) command(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "retryd.yaml")
	if err := os.WriteFile(file, []byte(g.config), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(suite.Binary(t), append(args, "--config", file)...)
	text, err := command.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

// right is an operation on a resource.
type right struct {
	on sarama.Resource
	op sarama.AclOperation
}

func (r right) String() string {
	kind := "topic"
	if r.on.ResourceType == sarama.AclResourceGroup {
		kind = "group"
	}
	return fmt.Sprintf("%s on %s %s", r.op.String(), kind, r.on.ResourceName)
}

// printed returns the rights that retryd says it needs.
func (g *guarded) printed(t *testing.T) []right {
	t.Helper()
	var report struct {
		ACLs []struct {
			Resource   sarama.AclResourceType
			Name       string
			Pattern    sarama.AclResourcePatternType
			Operations []sarama.AclOperation
		}
	}
	output, code := g.command(t, "topics", "--acls", "--output", "json")
	if err := json.Unmarshal([]byte(output), &report); err != nil || code != 0 {
		t.Fatalf("retryd topics --acls ended with %d and printed %s: %v", code, output, err)
	}
	var rights []right
	for _, acl := range report.ACLs {
		on := sarama.Resource{ResourceType: acl.Resource, ResourceName: acl.Name, ResourcePatternType: acl.Pattern}
		for _, op := range acl.Operations {
			rights = append(rights, right{on, op})
		}
	}
	return rights
}

// grantPrinted grants what retryd says it needs.
func (g *guarded) grantPrinted(t *testing.T) []right {
	t.Helper()
	rights := g.printed(t)
	for _, r := range rights {
		g.kafka.Grant(t, r.on, r.op)
	}
	return rights
}

// awaitDeadLetter waits until the one record has walked the whole chain.
func (g *guarded) awaitDeadLetter(t *testing.T) {
	t.Helper()
	harness.WaitFor(t, 2*bound, "the record to be dead-lettered", func() bool { return g.kafka.Records(t, g.dlt()) > 0 })
}

// expectFailure runs the check, which must say in one line what is not granted.
func (g *guarded) expectFailure(t *testing.T, missing right) {
	t.Helper()
	output, code := g.command(t, "check", "--connect")
	for line := range strings.Lines(output) {
		operations, resource, _ := strings.Cut(line, " on ")
		_, name, _ := strings.Cut(missing.String(), " on ")
		if code == 1 && strings.Contains(operations, missing.op.String()) && strings.HasPrefix(resource, name) && strings.Contains(resource, "is not granted") {
			return
		}
	}
	t.Errorf("without %s check --connect ends with %d:\n%s", missing, code, output)
}

// The tests of access share one cluster; each has topics and rules of its own.
func TestAccess(t *testing.T) {
	t.Parallel()
	kafka := harness.StartSecureKafka(t)
	t.Run("what is printed is enough", func(t *testing.T) { testPrintedAccessIsEnough(t, kafka) })
	t.Run("what is printed is needed", func(t *testing.T) { testPrintedAccessIsNeeded(t, kafka) })
	t.Run("what is denied is told", func(t *testing.T) { testDeniedAccessIsTold(t, kafka) })
}

func testPrintedAccessIsEnough(t *testing.T, kafka *harness.SecureCluster) {
	t.Parallel()
	g := newGuarded(t, kafka, 1)
	g.grantPrinted(t)
	d := suite.Daemon(t, g.config)
	kafka.Write(t, g.topic, "x")
	g.awaitDeadLetter(t)
	if requests, _ := g.endpoint.Counts(); requests != 3 {
		t.Errorf("%d attempts, want one of main and of each tier", requests)
	}
	if output, code := g.command(t, "check", "--connect"); code != 0 {
		t.Errorf("check --connect ends with %d:\n%s", code, output)
	}
	d.Stop(t)
}

// With any of the rights missing the check says so.
func testPrintedAccessIsNeeded(t *testing.T, kafka *harness.SecureCluster) {
	t.Parallel()
	g := newGuarded(t, kafka, 2)
	rights := g.grantPrinted(t)
	without := func(do func(op sarama.AclOperation) bool) {
		for _, r := range rights {
			if do(r.op) {
				kafka.Revoke(t, r.on, r.op)
				g.expectFailure(t, r)
				kafka.Grant(t, r.on, r.op)
			}
		}
	}
	without(func(op sarama.AclOperation) bool { return op != sarama.AclOperationAlter })
	for _, topic := range []string{g.tier(1), g.tier(2), g.dlt()} {
		kafka.CreateTopic(t, topic, 1) // main has two partitions: these lack one
	}
	without(func(op sarama.AclOperation) bool { return op == sarama.AclOperationAlter })
}

// A right that is missing, from the start or later, is told alike by the log, by
// /readyz and by the check, and no record is lost by it.
func testDeniedAccessIsTold(t *testing.T, kafka *harness.SecureCluster) {
	t.Parallel()
	describeMain := func(g *guarded) right { return right{harness.Topic(g.topic), sarama.AclOperationDescribe} }
	readMain := func(g *guarded) right { return right{harness.Topic(g.topic), sarama.AclOperationRead} }
	readGroup := func(g *guarded) right { return right{harness.Group(g.group()), sarama.AclOperationRead} }
	writeTier := func(g *guarded) right { return right{harness.Topic(g.tier(1)), sarama.AclOperationWrite} }
	writeDLT := func(g *guarded) right { return right{harness.Topic(g.dlt()), sarama.AclOperationWrite} }
	tests := []struct {
		name   string
		denied func(*guarded) right
		later  bool // only when the relay is ready
	}{
		{"describe main", describeMain, false},
		{"read main", readMain, false},
		{"read main later", readMain, true},
		{"read the group", readGroup, false},
		{"read the group later", readGroup, true},
		{"write to a tier later", writeTier, true},
		{"write to the dead-letter topic", writeDLT, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t, kafka, 1)
			rights := g.grantPrinted(t)
			denied := tt.denied(g)
			if !tt.later {
				kafka.Deny(t, denied.on, denied.op)
			}
			began := time.Now()
			d := harness.StartDaemon(t, suite.Binary(t), g.config)
			if tt.later {
				d.WaitReady(t)
				kafka.Deny(t, denied.on, denied.op)
			}
			kafka.Write(t, g.topic, "x")
			expectTold(t, d, denied, began)
			g.expectFailure(t, denied)

			kafka.Revoke(t, denied.on, denied.op)
			for _, r := range rights { // what was granted of it is revoked too
				kafka.Grant(t, r.on, r.op)
			}
			g.awaitDeadLetter(t)
			d.Stop(t)
		})
	}
}

// limited is how long the daemon keeps back the repetition of a line.
const limited = 30 * time.Second

// expectTold waits until /readyz tells of the missing right, and looks for a few
// lines in the log that do.
func expectTold(t *testing.T, d *harness.Daemon, denied right, began time.Time) {
	t.Helper()
	tells := func(line string) bool {
		return strings.Contains(line, denied.on.ResourceName) && strings.Contains(line, "not authorized") &&
			strings.Contains(line, "grant "+denied.op.String()+" ")
	}
	harness.WaitFor(t, bound, "/readyz to tell that "+denied.String()+" is missing", func() bool {
		status, body, err := d.Get("/readyz")
		return err == nil && status == http.StatusServiceUnavailable && slices.ContainsFunc(strings.Split(body, "\n"), tells)
	})
	told := 0
	harness.WaitFor(t, bound, "the log to tell that "+denied.String()+" is missing", func() bool {
		told = len(slices.DeleteFunc(strings.Split(d.Log(), "\n"), func(line string) bool { return !tells(line) }))
		return told > 0
	})
	// What fails of one relay at once for the same reason: reading, the last commit,
	// the membership.
	if most := 3 * (1 + int(time.Since(began)/limited)); told > most {
		t.Errorf("%d lines tell that %s is missing, want %d at most", told, denied, most)
	}
}
