package kafka

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestExplainKnowsWhatBrokersSayOfEachOther(t *testing.T) {
	for err, want := range map[error]string{
		sarama.ErrBrokerNotFound:      "the broker is not known any more",
		sarama.ErrReplicaNotAvailable: "a broker with a replica is down",
		sarama.ErrBrokerNotAvailable:  "the broker is not available",
		sarama.ErrNetworkException:    "the broker broke the connection",
	} {
		if got := Explain(err); got != want {
			t.Errorf("%q became %q, want %q", err, got, want)
		}
	}
}

func TestQuestionForAccessThatHasNoAnswerSaysWhatWasAsked(t *testing.T) {
	broken := func(kmsg.Request) (kmsg.Response, error, bool) { return nil, io.EOF, true }
	topics := func(c *Cluster) error { _, err := c.TopicAccess("main"); return err }
	cluster := func(c *Cluster) error { _, err := c.ClusterAccess(); return err }
	tests := []struct {
		name   string
		key    kmsg.Key
		answer func(kmsg.Request) (kmsg.Response, error, bool)
		ask    func(*Cluster) error
		want   string
	}{
		{"topics, connection broken", kmsg.Metadata, broken, topics, "ask what may be done with topics: the broker closed the connection"},
		{"topics, error of one", kmsg.Metadata, func(r kmsg.Request) (kmsg.Response, error, bool) {
			resp := r.ResponseKind().(*kmsg.MetadataResponse)
			main := kmsg.NewMetadataResponseTopic()
			main.Topic, main.ErrorCode = kmsg.StringPtr("main"), int16(sarama.ErrUnknown)
			resp.Topics = append(resp.Topics, main)
			return resp, nil, true
		}, topics, "ask what may be done with topic main: the broker failed: its log says how"},
		{"cluster, connection broken", kmsg.DescribeCluster, broken, cluster, "ask what may be done with the cluster: the broker closed the connection"},
		{"cluster, error", kmsg.DescribeCluster, func(r kmsg.Request) (kmsg.Response, error, bool) {
			resp := r.ResponseKind().(*kmsg.DescribeClusterResponse)
			resp.ErrorCode = int16(sarama.ErrUnknown)
			return resp, nil, true
		}, cluster, "ask what may be done with the cluster: the broker failed: its log says how"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake, config := startFake(t, kfake.SeedTopics(1, "main"))
			c := connect(t, config)
			fake.ControlKey(int16(tt.key), tt.answer)
			err := tt.ask(c)
			if err == nil {
				t.Fatal("no error")
			}
			if got := Explain(err); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// blind knows of no topic.
type blind struct{ sarama.ClusterAdmin }

func (blind) DescribeTopics([]string) ([]*sarama.TopicMetadata, error) { return nil, nil }

func TestNewTopicThatNobodyShowsIsWaitedForAndThenNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, began := &Cluster{admin: blind{}}, time.Now()
		err := c.await("tier", 3)
		if want := "topic tier was created with 3 partitions, but they are not visible yet"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if took := time.Since(began); took < visibleWithin {
			t.Errorf("given up after %v, want %v at least", took, visibleWithin)
		}
	})
}
