package inspect

import (
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/retryd/retryd/internal/kafka"
)

func TestConnectOfANewRelay(t *testing.T) {
	s := startScene(t, kfake.SeedTopics(3, "loans"))
	requireText(t, `ok  brokers: BROKER takes connections
ok  kafka: the cluster answers; brokers: 0 at BROKER
ok  access: everything is granted on topic retryd.control
ok  topics: will be created with 1 partition: retryd.control
ok loans access: everything that the relay needs is granted
ok loans topics: as they should be: loans
ok loans topics: will be created with 3 partitions: loans.retry.1, loans.retry.2, loans.DLT
ok loans groups: no members: the relay is not running
ok loans start: topic loans is empty: nothing to be read at first
ok loans endpoint: http://ENDPOINT/loans takes connections; nothing was posted
`, s.connect(t, one))
	if topics := s.fake.TopicInfo("loans.DLT"); topics != nil {
		t.Error("a topic was created")
	}
}

func TestConnectTellsWhatAFirstStartReads(t *testing.T) {
	tests := []struct {
		name, start, want string
	}{
		{"earliest", "start: earliest,", "ok loans start: group retryd-loans is new: with start: earliest it reads about 7 of the 7 records that topic loans holds"},
		{"latest", "start: latest,", "ok loans start: group retryd-loans is new: with start: latest it reads about 0 of the 7 records that topic loans holds"},
		{"a time to come", "start: 2100-01-01T00:00:00Z,", "ok loans start: group retryd-loans is new: with start: 2100-01-01T00:00:00Z it reads about 0 of the 7 records that topic loans holds"},
		{"not said", "", "fail loans start: group retryd-loans is new and topic loans holds about 7 records: set start: earliest to deliver them, latest to skip them, or a time (RFC 3339)"},
	}
	s := startScene(t, kfake.SeedTopics(1, "loans"))
	s.produce(t, "loans", 7)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			requireLine(t, tt.want, s.connect(t, strings.Replace(one, "start: earliest,", tt.start, 1)))
		})
	}
	s.commit(t, "retryd-loans", "loans", 3)
	t.Run("committed", func(t *testing.T) {
		requireLine(t, "ok loans start: the group retryd-loans goes on behind its committed offsets", s.connect(t, one))
	})
}

func TestConnectWarnsOfAGroupThatSkipsWhatTheTiersHold(t *testing.T) {
	const want = "warn loans start: group retryd-loans has never read from loans.retry.1, loans.retry.2 (3 records): if the relay had another group before, what that one has not completed is skipped; go back to that group, let the retry topics drain, then change it"
	s := startScene(t, kfake.SeedTopics(1, "loans", "loans.retry.1", "loans.retry.2"))
	s.produce(t, "loans.retry.1", 2)
	s.produce(t, "loans.retry.2", 1)
	s.produce(t, "loans", 1)
	requireLine(t, want, s.connect(t, one))
	others := strings.Replace(one, "start: earliest,", "consume: false,", 1)
	requireLine(t, want, s.connect(t, others))
	s.commit(t, "retryd-loans", "loans", 1)
	requireLine(t, want, s.connect(t, one)) // the group on main is not that of a tier
	s.commit(t, "retryd-loans-retry-loans.retry.1", "loans.retry.1", 1)
	requireLine(t, strings.Replace(want, "loans.retry.1, loans.retry.2 (3 records)", "loans.retry.2 (1 record)", 1), s.connect(t, one))
	s.commit(t, "retryd-loans-retry-loans.retry.2", "loans.retry.2", 0)
	for _, text := range []string{one, others} {
		if got := s.connect(t, text); strings.Contains(got, "has never read") {
			t.Errorf("a warning though every group has begun:\n%s", got)
		}
	}
}

func TestConnectWarnsOfAGroupThatSkipsWhatAParkTopicHolds(t *testing.T) {
	s := startScene(t, kfake.SeedTopics(1, "loans", "loans.park.1h"))
	s.produce(t, "loans.park.1h", 2)
	got := s.connect(t, strings.Replace(one, "tiers: [5s, 30s]", "tiers: [5s], park: [1h]", 1))
	if !strings.Contains(got, "group retryd-loans has never read from loans.park.1h (2 records)") {
		t.Errorf("no warning in\n%s", got)
	}
}

func TestConnectNamesProblemsOfTopics(t *testing.T) {
	s := startScene(t, kfake.SeedTopics(2, "loans"), kfake.SeedTopics(1, "loans.retry.1", "loans.retry.3"))
	s.produce(t, "loans.retry.3", 1)
	if err := createCompacted(s.client(t), "loans.DLT"); err != nil {
		t.Fatal(err)
	}
	got := s.connect(t, strings.Replace(one, "relays:", "topics: {create: false}\nrelays:", 1))
	for _, want := range []string{
		"ok loans topics: as they should be: loans",
		"fail loans topics: topic loans.DLT: cleanup.policy is compact, which deletes records of the same key: set cleanup.policy=delete",
		"fail loans topics: missing, and topics.create is false; create with 2 partitions, or by retryd topics --create: loans.retry.2",
		"fail loans topics: too few partitions, and topics.create is false; add partitions to have 2, or run retryd topics --create: loans.retry.1 (has 1)",
		"ok loans topics: loans.retry.3 belongs to no configured tier and is still consumed, 1 record to go: delete it when it is empty",
	} {
		requireLine(t, want, got)
	}
	got = s.connect(t, one)
	requireLine(t, "ok loans topics: will get partitions, to have 2: loans.retry.1 (has 1)", got)
	s.commit(t, "retryd-loans-retry-loans.retry.3", "loans.retry.3", 1)
	requireLine(t, "ok loans topics: loans.retry.3 belongs to no configured tier and is empty: delete it once no instance runs an earlier configuration", s.connect(t, one))
}

func createCompacted(client sarama.Client, topic string) error {
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		return err
	}
	policy, unlimited := "compact", "-1"
	return admin.CreateTopic(topic, &sarama.TopicDetail{
		NumPartitions: 2, ReplicationFactor: 1,
		ConfigEntries: map[string]*string{"cleanup.policy": &policy, "retention.ms": &unlimited},
	}, false)
}

func TestConnectWithoutAMainTopic(t *testing.T) {
	s := startScene(t)
	requireText(t, `ok  brokers: BROKER takes connections
ok  kafka: the cluster answers; brokers: 0 at BROKER
ok  access: everything is granted on topic retryd.control
ok  topics: will be created with 1 partition: retryd.control
ok loans access: everything that the relay needs is granted
fail loans topics: main topic loans does not exist: create it, or correct the relay's topic; retryd never creates a main topic
ok loans groups: no members: the relay is not running
ok loans endpoint: http://ENDPOINT/loans takes connections; nothing was posted
`, s.connect(t, one))
}

func TestConnectSeesThatTheRelayRuns(t *testing.T) {
	s := startScene(t, kfake.SeedTopics(1, "loans"))
	config := sarama.NewConfig()
	group, err := sarama.NewConsumerGroup(s.fake.ListenAddrs(), "retryd-loans", config)
	if err != nil {
		t.Fatal(err)
	}
	joined := make(chan struct{})
	left := make(chan error, 1)
	go func() { left <- group.Consume(t.Context(), []string{"loans"}, member{joined}) }()
	<-joined
	requireLine(t, "ok loans groups: the relay is running; members: main: 1 (Stable)", s.connect(t, one))
	if err := group.Close(); err != nil {
		t.Error(err)
	}
	if err := <-left; err != nil {
		t.Error(err)
	}
}

// member tells that it has joined, and consumes nothing.
type member struct{ joined chan struct{} }

func (m member) Setup(sarama.ConsumerGroupSession) error {
	close(m.joined)
	return nil
}
func (m member) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (m member) ConsumeClaim(session sarama.ConsumerGroupSession, _ sarama.ConsumerGroupClaim) error {
	<-session.Context().Done()
	return nil
}

func TestConnectWithoutKafkaStillLooksAtTheEndpoints(t *testing.T) {
	s := startScene(t)
	requireText(t, `fail  brokers: 127.0.0.1:1 cannot be reached (connection refused): does a broker run there, and is kafka.brokers right?
fail  kafka: connect to 127.0.0.1:1: no broker answers: dial tcp 127.0.0.1:1: connect: connection refused; the relays' topics and groups were not looked at
ok loans endpoint: http://ENDPOINT/loans takes connections; nothing was posted
`, s.connect(t, strings.Replace(one, "BROKER", "127.0.0.1:1", 1)))
}

func TestABrokerThatIsDownBesideOthersIsAWarning(t *testing.T) {
	s := startScene(t, kfake.SeedTopics(1, "loans"))
	got := s.connect(t, strings.Replace(one, "[BROKER]", "[127.0.0.1:1, BROKER]", 1))
	requireLine(t, "warn  brokers: 127.0.0.1:1 cannot be reached (connection refused): retryd finds the cluster through the others only", got)
	requireLine(t, "ok  kafka: the cluster answers; brokers: 0 at BROKER", got)
}

func TestABrokerThatCannotBeReachedByItsOwnNameFails(t *testing.T) {
	got := clusterFindings(t.Context(), []kafka.Broker{{ID: 4, Addr: "127.0.0.1:1"}})
	want := []Finding{{Fail, "", "kafka", "broker 4 at 127.0.0.1:1 cannot be reached (connection refused): it must be reachable from here by its own name; does it run, and is its advertised.listeners right?"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestFailedIsAboutFailuresAlone(t *testing.T) {
	if Failed([]Finding{{Level: OK}, {Level: Warn}}) || !Failed([]Finding{{Level: OK}, {Level: Fail}}) {
		t.Error("warnings and failures are mixed up")
	}
}
