package harness

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/devbroker"
)

func startBroker(t *testing.T) []string {
	t.Helper()
	b, err := devbroker.Start(devbroker.Options{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b.Addrs()
}

// relay is a toy in the place of retryd: one attempt, one hop, one more attempt,
// then the dead-letter topic.
type relay struct {
	t              *testing.T
	producer       sarama.SyncProducer
	tier           string
	dead           string
	endpoint       *Endpoint
	forgets, tries string // ids that it loses, and that it tries too early
}

func (r *relay) handle(m *sarama.ConsumerMessage) {
	id := header(m, headerEventID)
	if id == r.forgets {
		return
	}
	if r.attempt(m, id, 1) {
		return
	}
	notBefore := time.Now().Add(20 * time.Millisecond).Truncate(time.Millisecond).Add(time.Millisecond)
	if id == r.tries {
		notBefore = notBefore.Add(time.Hour)
	}
	r.forward(r.tier, m, headerAttempt, "1", headerNotBefore, strconv.FormatInt(notBefore.UnixMilli(), 10))
	if id != r.tries {
		<-time.After(time.Until(notBefore) + time.Millisecond)
	}
	if !r.attempt(m, id, 2) {
		r.forward(r.dead, m, headerAttempt, "2", "x-reason", "exhausted")
	}
}

func (r *relay) attempt(m *sarama.ConsumerMessage, id string, attempt int) bool {
	r.t.Helper()
	status, err := post(r.endpoint, id, string(m.Value), "Retryd-Attempt", fmt.Sprint(attempt), "Retryd-Topic", m.Topic,
		"Retryd-Partition", fmt.Sprint(m.Partition), "Retryd-Offset", fmt.Sprint(m.Offset), "Retryd-Key", string(m.Key))
	if err != nil {
		r.t.Fatal(err)
	}
	return status == http.StatusOK
}

func (r *relay) forward(topic string, m *sarama.ConsumerMessage, headers ...string) {
	r.t.Helper()
	headers = append(headers, headerOriginTopic, m.Topic, headerOriginPartition, fmt.Sprint(m.Partition),
		headerOriginOffset, fmt.Sprint(m.Offset))
	message := &sarama.ProducerMessage{Topic: topic, Key: sarama.ByteEncoder(m.Key), Value: sarama.ByteEncoder(m.Value)}
	for _, h := range m.Headers {
		message.Headers = append(message.Headers, *h)
	}
	for i := 0; i < len(headers); i += 2 {
		message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(headers[i]), Value: []byte(headers[i+1])})
	}
	if _, _, err := r.producer.SendMessage(message); err != nil {
		r.t.Fatal(err)
	}
}

func TestLedgerFollowsRecordsThroughTopicsAndEndpoint(t *testing.T) {
	addrs := startBroker(t)
	main := TopicName(t)
	tier, dead := main+".retry.1", main+".DLT"
	for _, topic := range []string{main, tier, dead} {
		CreateTopic(t, addrs, topic, 3, nil)
	}
	endpoint := StartEndpoint(t, func(r Request) Answer {
		if strings.HasPrefix(r.EventID, "always") || strings.HasPrefix(r.EventID, "once") && r.Attempt == 1 {
			return Answer{Status: http.StatusServiceUnavailable}
		}
		return Answer{}
	})
	ledger := NewLedger(t, addrs, []Tier{{Topic: tier}}, dead)
	var records []Record
	for i := range 9 {
		records = append(records, Record{
			ID:    fmt.Sprintf("%s-%d", []string{"never", "once", "always"}[i%3], i),
			Key:   []byte(fmt.Sprintf("loan-%d", i)),
			Value: []byte{0, 0xff, byte(i)},
		})
	}
	if err := ledger.Write(main, records...); err != nil {
		t.Fatal(err)
	}

	toy := &relay{
		t: t, tier: tier, dead: dead, endpoint: endpoint,
		producer: ledger.producer, forgets: "never-0", tries: "once-1",
	}
	for _, m := range ReadTopic(t, addrs, main) {
		toy.handle(m)
	}
	got := ledger.Close(t, endpoint, time.Second)
	if diff := cmp.Diff(found{Lost: []string{"never-0"}, Early: []string{"once-1"}}, findings(got)); diff != "" {
		t.Errorf("findings (-want +got):\n%s%+v", diff, got)
	}
	if got.Written != 9 || got.Accepted != 5 || got.DeadLettered != 3 || got.Requests != 14 {
		t.Errorf("report %s, want 9 written, 5 accepted, 3 dead, 14 requests", got)
	}
}

func TestLedgerClosesAsSoonAsEveryRecordHasItsEnd(t *testing.T) {
	addrs := startBroker(t)
	topic := TopicName(t)
	CreateTopic(t, addrs, topic, 1, nil)
	endpoint := StartEndpoint(t, nil)
	ledger := NewLedger(t, addrs, nil, topic+".DLT") // which does not exist
	if err := ledger.Write(topic, Record{Value: []byte("v")}, Record{}); err != nil {
		t.Fatal(err)
	}
	for _, m := range ReadTopic(t, addrs, topic) {
		tombstone := fmt.Sprint(m.Value == nil)
		if _, err := post(endpoint, fmt.Sprint("id-", m.Offset), string(m.Value), "Retryd-Attempt", "1", "Retryd-Topic", topic,
			"Retryd-Partition", "0", "Retryd-Offset", fmt.Sprint(m.Offset), "Retryd-Tombstone", tombstone); err != nil {
			t.Fatal(err)
		}
	}
	// With a bound of hours, returning at all shows that nothing waits for it.
	got := ledger.Close(t, endpoint, 24*time.Hour)
	got.Check(t)
	if got.Accepted != 2 {
		t.Errorf("report %s, want 2 accepted", got)
	}
}

func TestLedgerRefusesWhatItCouldNotTellApart(t *testing.T) {
	place := position{"main", 0, 0}
	with := func(id string) *entry { return &entry{Record: Record{ID: id}} }
	tests := []struct {
		name          string
		first, second *entry
		at            position
		want          string
	}{
		{"different places", with(""), with(""), position{"main", 0, 1}, ""},
		{"different ids at one place", with("a"), with("b"), place, ""},
		{"no ids at one place", with(""), with(""), place, "two records were acknowledged at main/0/0"},
		{"one id at one place", with("a"), with(""), place, "two records were acknowledged at main/0/0"},
		{"the same id", with("a"), with("a"), position{"main", 0, 1}, `event id "a" twice`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := newIndex()
			if err := x.add(tt.first, place); err != nil {
				t.Fatal(err)
			}
			err := x.add(tt.second, tt.at)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	x := newIndex()
	x.add(with("a"), place)
	x.add(with("b"), place)
	if e := x.find("", place); e != nil {
		t.Errorf("a place that two records share names %q", e.ID)
	}
}

func TestLedgerWriteNamesTheTopicThatIsMissing(t *testing.T) {
	addrs := startBroker(t)
	config := ClientConfig()
	config.Metadata.Retry.Max = 0
	producer, err := sarama.NewSyncProducer(addrs, config)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	ledger := &Ledger{producer: producer, index: newIndex()}
	err = ledger.Write("no.such.topic", Record{Value: []byte("v")})
	if err == nil || !strings.Contains(err.Error(), "no.such.topic") || len(ledger.entries) != 0 {
		t.Errorf("error %v, %d entries", err, len(ledger.entries))
	}
}
