package tier

import (
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

// A producer looks at its topics every 30 s only.
func TestTopicThatGrewTakesRecordsInAllItsPartitionsAtOnce(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	r, _ := f.relay(t, "orders", 1)
	admin, err := sarama.NewClusterAdmin(f.brokers, harness.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.CreatePartitions("orders", 6, nil, false); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, time.Minute, "the routes", func() bool { return r.routes.Load().dlt.partitions == 6 })
	written := make(chan error, 1)
	for _, to := range []*target{r.routes.Load().tiers[0], r.routes.Load().dlt} {
		to.Send(&sarama.ProducerMessage{Partition: 5}, func(_ int64, err error) { written <- err })
		if err := <-written; err != nil {
			t.Errorf("%s: %v", to.topic, err)
		}
	}
}
