package scenarios

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/retryd/retryd/test/harness"
)

// A broker with several disks goes on without the one that is full: it answers what
// needs that disk with an error of its own.
func TestFullDiskOfABrokerIsToldAlikeEverywhere(t *testing.T) {
	t.Parallel()
	const each = 50
	addrs, full := brokerThat(t, unstored)
	c := newChain(t, addrs, 2, failing("fail"), 200*time.Millisecond)
	d := suite.Daemon(t, configuration(c.addrs, "", c.relay("start: earliest")))
	o := sign{
		manual: "A broker's disk is full or broken",
		began:  cannotWrite, ended: "topic takes records again",
		why: "the broker's disk fails or is full", relay: c.topic, unready: true,
		series: c.series("retryd_relay_ready"), broken: 0, sound: 1,
	}.expect(t, d)
	full.Store(true)
	c.write(t, append(records("good", each), records("fail", each)...)...)
	o.awaitTold(t)
	if got := metric(t, d, c.series("retryd_produce_errors_total", `target="1"`)); got == 0 {
		t.Error("retryd_produce_errors_total is 0")
	}
	full.Store(false)
	o.awaitOver(t)
	c.settle(t, d)
}

// unstored returns a broker's answer to who writes to a tier on a disk that takes
// nothing; nil to any other request.
func unstored(request kmsg.Request) kmsg.Response {
	produce, ok := request.(*kmsg.ProduceRequest)
	if !ok || !strings.Contains(produce.Topics[0].Topic, ".retry.") {
		return nil
	}
	response := produce.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range produce.Topics {
		t := kmsg.NewProduceResponseTopic()
		t.Topic, t.TopicID = topic.Topic, topic.TopicID
		for _, partition := range topic.Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode = partition.Partition, kerr.KafkaStorageError.Code
			t.Partitions = append(t.Partitions, p)
		}
		response.Topics = append(response.Topics, t)
	}
	return response
}

// program installs a script, and returns its path. Another process writes the file: one
// that this process has open for writing is inherited by whatever is started meanwhile,
// and cannot be executed as long as that has it (golang/go#22315).
func program(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	text, path := filepath.Join(dir, "script"), filepath.Join(dir, "retryd")
	if err := os.WriteFile(text, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), "install", "-m", "755", text, path).CombinedOutput(); err != nil {
		t.Fatalf("install the script: %v\n%s", err, output)
	}
	return path
}

// The log cannot tell of a log that cannot be written; the other places do.
func TestFullDiskBelowTheLogStopsNoDelivery(t *testing.T) {
	t.Parallel()
	const each = 50
	c := newChain(t, embedded(t), 2, failing("fail"), 200*time.Millisecond)
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\" 2> /dev/full\n", suite.Binary(t))
	d := harness.StartDaemon(t, program(t, script), configuration(c.addrs, "", c.relay("start: earliest")))
	d.WaitReady(t)
	c.write(t, append(records("good", each), records("fail", each)...)...)
	c.ledger.Close(t, c.endpoint, bound)

	const says = "log cannot be written: no space left on device"
	row := manualRow(t, "The log cannot be written")
	for _, text := range []string{says, "200", "`retryd_log_write_errors_total`"} {
		if !strings.Contains(row, text) {
			t.Errorf("docs/operations.md says nothing of %q", text)
		}
	}
	if code, body := readyz(t, d); code != http.StatusOK || body != "ok\n"+says+"\n" {
		t.Errorf("/readyz answers %d:\n%s", code, body)
	}
	now, text := stateOf(t, d)
	if problems := now.lines(); len(problems) != 1 || problems[0] != says || !now.Ready || !strings.Contains(text, says) {
		t.Errorf("retryd status does not say that alone:\n%s", text)
	}
	// Each bad record has a line for each of its attempts, and for each of its moves.
	if got := metric(t, d, "retryd_log_write_errors_total"); got < 4*each {
		t.Errorf("retryd_log_write_errors_total is %v, want %v at least", got, 4*each)
	}
	c.settle(t, d)
}
