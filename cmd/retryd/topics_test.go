package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/devbroker"
	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/kafka"
)

// broker is an embedded Kafka and a client of it.
type broker struct {
	addr    string
	admin   sarama.ClusterAdmin
	cluster *kafka.Cluster
}

func startBroker(t *testing.T) broker {
	t.Helper()
	b, err := devbroker.Start(devbroker.Options{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	admin, err := sarama.NewClusterAdmin(b.Addrs(), sarama.NewConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close() })
	config := kafka.DefaultConfig()
	config.Brokers = b.Addrs()
	cluster, err := kafka.Connect(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Close() })
	return broker{b.Addrs()[0], admin, cluster}
}

func (b broker) create(t *testing.T, topic string, partitions int32, config ...string) {
	t.Helper()
	detail := &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: map[string]*string{}}
	for _, entry := range config {
		key, value, _ := strings.Cut(entry, "=")
		detail.ConfigEntries[key] = &value
	}
	if err := b.admin.CreateTopic(topic, detail, false); err != nil {
		t.Fatal(err)
	}
}

// fill writes n records to partition 0 of a topic.
func (b broker) fill(t *testing.T, topic string, n int) {
	t.Helper()
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	producer, err := sarama.NewSyncProducer([]string{b.addr}, config)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for range n {
		if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("x")}); err != nil {
			t.Fatal(err)
		}
	}
}

// commit sets what a group has completed of partition 0.
func (b broker) commit(t *testing.T, group, topic string, offset int64) {
	t.Helper()
	offsets := kafka.Offsets{}
	offsets.Set(topic, 0, kafka.Committed{Offset: offset})
	if err := b.cluster.Commit(kafka.Member{Group: group, Generation: -1}, offsets); err != nil {
		t.Fatal(err)
	}
}

// file returns a configuration of one relay on that broker.
func (b broker) file(t *testing.T, more string) string {
	t.Helper()
	return writeFile(t, fmt.Sprintf(`
kafka: {brokers: ["%s"]}
relays:
  - topic: library.loan.overdue
    endpoint: {url: "http://127.0.0.1:8080/"}
    tiers: [5s, 30s, 5m]
%s`, b.addr, more))
}

// topics runs the command; the broker's address becomes the usual one.
func (b broker) topics(t *testing.T, args ...string) output {
	t.Helper()
	out := execute(t, nil, nil, append([]string{"topics"}, args...)...)
	out.Stdout = strings.ReplaceAll(out.Stdout, b.addr, "127.0.0.1:9092")
	return out
}

func TestTopicsShowsWhatIsMissingAndCreatesIt(t *testing.T) {
	b := startBroker(t)
	b.create(t, "library.loan.overdue", 3)
	b.create(t, "library.loan.overdue.retry.1", 1, "retention.ms=-1")
	path := b.file(t, "")
	steps := []struct {
		name string
		args []string
		code int
	}{
		{"missing", nil, 1},
		{"missing", nil, 1}, // nothing was changed
		{"created", []string{"--create"}, 0},
		{"standing", nil, 0},
		{"standing", []string{"--create"}, 0}, // nothing is left to do
	}
	for _, step := range steps {
		out := b.topics(t, append([]string{"--config", path}, step.args...)...)
		if out.Code != step.code || out.Stderr != "" {
			t.Errorf("%s: exit %d, standard error %q", step.name, out.Code, out.Stderr)
		}
		golden(t, "topics/"+step.name+".txt", out.Stdout)
		if step.name != "standing" { // which shows no more than the ones before
			documented(t, out.Stdout)
		}
	}
}

func TestTopicsShowsProblems(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, b broker)
		more    string
		args    []string
		code    int
	}{
		{"no-main", func(*testing.T, broker) {}, "", nil, 1},
		{"no-main-to-create-from", func(*testing.T, broker) {}, "", []string{"--create"}, 1},
		{"problem", func(t *testing.T, b broker) {
			b.create(t, "library.loan.overdue", 1)
			b.create(t, "library.loan.overdue.retry.1", 1, "cleanup.policy=compact")
			b.create(t, "library.loan.overdue.DLT", 2, "retention.ms=864000000")
		}, "", []string{"--create"}, 1},
		{"park", func(t *testing.T, b broker) { b.create(t, "library.loan.overdue", 1) }, "    park: [1920h, 1h]\n", []string{"--create"}, 0},
		{"review", func(t *testing.T, b broker) { b.create(t, "library.loan.overdue", 1) }, "    review: {enabled: true}\ndefaults: {endpoint: {rules: [{status: 415, action: dead_letter, dlt: unreadable}]}}\n", []string{"--create"}, 0},
		{"only-checked", func(t *testing.T, b broker) { b.create(t, "library.loan.overdue", 1) }, "topics: {create: false}\n", nil, 1},
		{"retired", func(t *testing.T, b broker) {
			b.create(t, "library.loan.overdue", 1)
			b.topics(t, "--config", b.file(t, ""), "--create")
			for _, topic := range []string{"library.loan.overdue.retry.4", "library.loan.overdue.retry.5"} {
				b.create(t, topic, 2)
			}
			b.fill(t, "library.loan.overdue.retry.4", 12)
			if err := b.admin.DeleteRecords("library.loan.overdue.retry.4", map[int32]int64{0: 5}); err != nil { // as retention does
				t.Fatal(err)
			}
			b.commit(t, "retryd-library.loan.overdue-retry-library.loan.overdue.retry.4", "library.loan.overdue.retry.4", 3)
			b.fill(t, "library.loan.overdue.retry.5", 2)
			b.commit(t, "retryd-library.loan.overdue-retry-library.loan.overdue.retry.5", "library.loan.overdue.retry.5", 2)
		}, "", nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := startBroker(t)
			tt.prepare(t, b)
			out := b.topics(t, append([]string{"--config", b.file(t, tt.more)}, tt.args...)...)
			if out.Code != tt.code || out.Stderr != "" {
				t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
			}
			golden(t, "topics/"+tt.name+".txt", out.Stdout)
			if tt.name == "retired" {
				documented(t, out.Stdout)
			}
		})
	}
}

func TestTopicsAsJSON(t *testing.T) {
	b := startBroker(t)
	b.create(t, "library.loan.overdue", 2)
	b.create(t, "library.loan.overdue.retry.4", 1)
	b.fill(t, "library.loan.overdue.retry.4", 1)
	out := b.topics(t, "--config", b.file(t, "    park: [24h]\n    review: {enabled: true}\n"), "--output", "json")
	var report struct {
		Relays []struct{ Topics []map[string]any }
	}
	if err := json.Unmarshal([]byte(out.Stdout), &report); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"topic": "library.loan.overdue", "role": "main", "tier": "main", "state": "ok", "partition_count": 2.0, "keeps_seconds": nil},
		{"topic": "library.loan.overdue.retry.1", "role": "tier", "tier": "1", "state": "missing", "partition_count": 0.0, "keeps_seconds": 604800.0},
		{"topic": "library.loan.overdue.retry.2", "role": "tier", "tier": "2", "state": "missing", "partition_count": 0.0, "keeps_seconds": 604800.0},
		{"topic": "library.loan.overdue.retry.3", "role": "tier", "tier": "3", "state": "missing", "partition_count": 0.0, "keeps_seconds": 604800.0},
		{"topic": "library.loan.overdue.park.24h", "role": "park", "tier": "park-24h", "state": "missing", "partition_count": 0.0, "keeps_seconds": 604800.0},
		{"topic": "library.loan.overdue.DLT", "role": "dead_letter", "tier": "", "state": "missing", "partition_count": 0.0, "keeps_seconds": nil},
		{"topic": "library.loan.overdue.review", "role": "review", "tier": "", "state": "missing", "partition_count": 0.0, "keeps_seconds": nil},
		{"topic": "library.loan.overdue.retry.4", "role": "retired", "tier": "4", "state": "ok", "partition_count": 1.0, "keeps_seconds": nil},
	}
	for _, topic := range want {
		topic["wanted_partition_count"], topic["records_left"], topic["deletable"] = 2.0, nil, false
	}
	retired := want[len(want)-1]
	retired["wanted_partition_count"], retired["records_left"] = 0.0, 1.0
	for _, topic := range want {
		topic["problems"], topic["warnings"] = []any{}, []any{}
	}
	if len(report.Relays) != 1 || out.Code != 1 {
		t.Fatalf("exit %d: %s", out.Code, out.Stdout)
	}
	if diff := cmp.Diff(want, report.Relays[0].Topics); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
}

func TestTopicsWithoutKafka(t *testing.T) {
	b := broker{addr: nobody(t)}
	out := execute(t, nil, nil, "topics", "--config", b.file(t, ""))
	out.Stderr = strings.ReplaceAll(out.Stderr, b.addr, "127.0.0.1:9092")
	want := output{Code: 1, Stderr: "retryd: connect to 127.0.0.1:9092: no broker answers: dial tcp 127.0.0.1:9092: connect: connection refused\n"}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestTopicsRefusesFlagsThatDoNotGoTogether(t *testing.T) {
	see := "\nSee \"retryd topics --help\".\n"
	path := writeFile(t, goodFile)
	tests := []struct {
		args []string
		want string
	}{
		{nil, "retryd: --config is missing: name the YAML file" + see},
		{[]string{"-c", path, "--acls", "--create"}, "retryd: --acls changes nothing: leave --create out" + see},
		{[]string{"-c", path, "--principal", "User:a"}, "retryd: --principal is for --acls, which is missing" + see},
		{[]string{"-c", path, "--acls", "--principal", "retryd"}, "retryd: --principal is \"retryd\": write TYPE:NAME, as in User:retryd" + see},
	}
	for _, tt := range tests {
		out := execute(t, nil, nil, append([]string{"topics"}, tt.args...)...)
		if diff := cmp.Diff(output{Code: 1, Stderr: tt.want}, out); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.args, diff)
		}
	}
}

func TestACLsAreCommandsOfKafka(t *testing.T) {
	out := execute(t, nil, nil, "topics", "--config", writeFile(t, goodFile), "--acls")
	if out.Code != 0 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	golden(t, "topics/acls.txt", out.Stdout)
	documented(t, out.Stdout)
}

func TestACLsAsJSON(t *testing.T) {
	out := execute(t, nil, nil, "topics", "--config", writeFile(t, goodFile), "--acls", "--principal", "User:CN=retryd,OU=a", "--output", "json")
	if out.Code != 0 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	golden(t, "topics/acls.json", out.Stdout)
}

func TestHowLongATopicKeepsRecords(t *testing.T) {
	keeps := inspect.Seconds(3 * 84 * time.Hour)
	for want, topic := range map[string]inspect.Topic{
		"-":              {Role: inspect.RoleMain},
		"10d12h or more": {Role: inspect.RoleTier, Keeps: &keeps},
		"for ever":       {Role: inspect.RoleDLT},
	} {
		if got := keepsText(topic); got != want {
			t.Errorf("%s: got %s, want %s", topic.Role, got, want)
		}
	}
}
