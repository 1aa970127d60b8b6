package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	relay    string
	keys     string // of the root: a control topic of its own
	config   string // of this relay alone
}

// newGuarded makes a main topic, and grants nothing.
func newGuarded(t *testing.T, kafka *harness.SecureCluster, partitions int32) *guarded {
	t.Helper()
	g := &guarded{kafka: kafka, topic: harness.TopicName(t), endpoint: harness.StartEndpoint(t, always(http.StatusServiceUnavailable))}
	kafka.CreateTopic(t, g.topic, partitions)
	c := &chain{topic: g.topic, endpoint: g.endpoint, delays: []time.Duration{20 * time.Millisecond, 20 * time.Millisecond}}
	g.relay = c.relay("start: earliest")
	g.keys = fmt.Sprintf("topics: {control: %s.control}", g.topic)
	g.config = configuration(kafka.Addrs(), g.keys, g.relay)
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

// denial is a right that a relay lacks, and how that shows. The relay beside it has
// all of its own, so that the process stays ready.
type denial struct {
	name  string
	later bool // only when the relay is ready
	right right
	sign
	consequences []string
}

// denials lists what a relay may lack.
func (g *guarded) denials() []denial {
	unread := sign{began: cannotRead, ended: "partition is read again",
		why: "not authorized: grant Read on the topic", says: "cannot read " + g.topic + "/0: not authorized: grant Read on the topic"}
	outside := sign{began: notMember, ended: "member of the group again",
		why: "not authorized: grant Read on the group", says: "is not a member of " + g.group() + ": not authorized: grant Read on the group"}
	unwritten := sign{began: cannotWrite, ended: "topic takes records again",
		why: "topic " + g.tier(1) + " may not be written (not authorized): grant Write on it"}
	hidden := sign{began: notReady, ended: "topics of the relay are in order again",
		why: "topic " + g.topic + " may not be looked at (not authorized): grant Describe and DescribeConfigs on it"}
	unburied := unwritten
	unburied.why, unburied.says = "topic "+g.dlt()+" may not be written", "may not be written (not authorized): grant Write on it"

	unstarted, ungrouped := hidden, hidden // the first look is at what was committed
	unstarted.why = "topic " + g.topic + " may not be read (not authorized): grant Read on it"
	unstarted.says = "may not be read"
	ungrouped.why = "group " + g.group() + " may not be used (not authorized): grant Read on it"

	describeMain, readMain := right{harness.Topic(g.topic), sarama.AclOperationDescribe}, right{harness.Topic(g.topic), sarama.AclOperationRead}
	readGroup := right{harness.Group(g.group()), sarama.AclOperationRead}
	writeTier, writeDLT := right{harness.Topic(g.tier(1)), sarama.AclOperationWrite}, right{harness.Topic(g.dlt()), sarama.AclOperationWrite}
	return []denial{
		{name: "describe main", right: describeMain, sign: hidden},
		{name: "read main", right: readMain, sign: unstarted},
		{name: "read main later", later: true, right: readMain, sign: unread, consequences: []string{cannotCommit, noLastCommit, lateCommit, gaveUp}},
		{name: "read the group", right: readGroup, sign: ungrouped},
		{name: "read the group later", later: true, right: readGroup, sign: outside, consequences: []string{cannotCommit, noLastCommit, lateCommit, gaveUp}},
		{name: "write to a tier later", later: true, right: writeTier, sign: unwritten},
		{name: "write to the dead-letter topic", right: writeDLT, sign: unburied},
	}
}

// A right that is missing, from the start or later, is told alike everywhere, and no
// record is lost by it.
func testDeniedAccessIsTold(t *testing.T, kafka *harness.SecureCluster) {
	t.Parallel()
	for i, each := range new(guarded).denials() {
		t.Run(each.name, func(t *testing.T) {
			t.Parallel()
			g, sound := newGuarded(t, kafka, 1), newGuarded(t, kafka, 1)
			testDenial(t, g, sound, g.denials()[i])
		})
	}
}

func testDenial(t *testing.T, g, sound *guarded, denied denial) {
	sound.grantPrinted(t)
	rights := g.grantPrinted(t)
	s := denied.sign
	s.manual, s.relay = "A right is missing.", g.topic
	s.series, s.broken, s.sound = fmt.Sprintf("retryd_relay_ready{relay=%q}", g.topic), 0, 1
	deny := func() { g.kafka.Deny(t, denied.right.on, denied.right.op) }
	config := configuration(g.kafka.Addrs(), g.keys, g.relay, sound.relay)
	var d *harness.Daemon
	var o *outage
	if denied.later {
		d = suite.Daemon(t, config)
		o = s.expect(t, d)
		deny()
	} else {
		deny()
		d = harness.StartDaemon(t, suite.Binary(t), config)
		o = s.fromStart(t, d)
	}
	g.kafka.Write(t, g.topic, "x")
	g.kafka.Write(t, sound.topic, "y")
	o.awaitTold(t)
	sound.awaitDeadLetter(t)
	g.expectFailure(t, denied.right)

	g.kafka.Revoke(t, denied.right.on, denied.right.op)
	for _, r := range rights { // what was granted of it is revoked too
		g.kafka.Grant(t, r.on, r.op)
	}
	o.awaitOver(t, denied.consequences...)
	g.awaitDeadLetter(t)
	d.Stop(t)
}
