package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

// A partition that ends below its commit has lost what was committed: all that it holds
// is delivered, and the log says why.
func TestPartitionThatEndsBelowItsCommitIsReadFromItsBeginning(t *testing.T) {
	t.Parallel()
	const (
		each = 20
		lost = "partition ends below its committed offset: the cluster has lost records, and it is read from its earliest offset"
	)
	if !strings.Contains(manualRow(t, "The cluster has lost records that were committed"), "`"+lost+"`") {
		t.Errorf("docs/operations.md says nothing of %q", lost)
	}
	c := newChain(t, suite.Kafka(t).Addrs(), 2, sortedByPrefix, 200*time.Millisecond)
	commitBeyond(t, c, 1000)
	c.write(t, records("before", each)...)
	d := c.run(t)
	c.awaitAccepted(t, each)
	c.write(t, records("after", each)...)
	if n := metric(t, d, c.series("retryd_metadata_ignored_total", `reason="beyond_end"`)); n != 2 {
		t.Errorf("%v commits were ignored, want 2", n)
	}
	c.settle(t, d)
	if n := lines(d, lost); n != 1 {
		t.Errorf("%d lines tell of it, want one for both partitions", n)
	}
}

// commitBeyond commits an offset of both partitions for the group, which has no members.
func commitBeyond(t *testing.T, c *chain, offset int64) {
	t.Helper()
	manager, err := sarama.NewOffsetManagerFromClient(c.group(), harness.NewClient(t, c.addrs))
	if err != nil {
		t.Fatal(err)
	}
	for partition := range int32(2) {
		p, err := manager.ManagePartition(c.topic, partition)
		if err != nil {
			t.Fatal(err)
		}
		p.MarkOffset(offset, "")
		defer p.AsyncClose()
	}
	manager.Commit()
	if err := manager.Close(); err != nil {
		t.Fatal(err)
	}
}
