package scenarios

import (
	"fmt"
	"net/http"
	"os"
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
		began: "cannot write a record to its next topic: it is held and written again each second, none is lost", ended: "topic takes records again",
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
	o.awaitOver(t, 2)
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

// The log cannot tell of a log that cannot be written; the other places do.
func TestFullDiskBelowTheLogStopsNoDelivery(t *testing.T) {
	t.Parallel()
	const each = 50
	c := newChain(t, embedded(t), 2, failing("fail"), 200*time.Millisecond)
	shell := filepath.Join(t.TempDir(), "retryd")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\" 2> /dev/full\n", suite.Binary(t))
	if err := os.WriteFile(shell, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	d := harness.StartDaemon(t, shell, configuration(c.addrs, "", c.relay("start: earliest")))
	d.WaitReady(t)
	c.write(t, append(records("good", each), records("fail", each)...)...)
	c.ledger.Close(t, c.endpoint, bound)

	const says = "log cannot be written: no space left on device"
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
