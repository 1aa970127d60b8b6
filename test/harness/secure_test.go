package harness

import (
	"errors"
	"testing"

	"github.com/IBM/sarama"
)

func TestSecureKafkaAllowsOnlyWhatIsGranted(t *testing.T) {
	c := StartSecureKafka(t)
	topic := TopicName(t)
	if n := c.Records(t, topic); n != 0 {
		t.Errorf("a topic that does not exist has %d records", n)
	}
	c.CreateTopic(t, topic, 1)
	c.Write(t, topic, "by the administrator")
	steps := []struct {
		name   string
		change func()
		want   error
	}{
		{"at first", func() {}, sarama.ErrTopicAuthorizationFailed},
		{"granted", func() { c.Grant(t, Topic(topic), sarama.AclOperationWrite) }, nil},
		{"denied", func() { c.Deny(t, Topic(topic), sarama.AclOperationWrite) }, sarama.ErrTopicAuthorizationFailed},
		{"revoked", func() { c.Revoke(t, Topic(topic), sarama.AclOperationWrite) }, sarama.ErrTopicAuthorizationFailed},
		{"granted again", func() { c.Grant(t, Topic(topic), sarama.AclOperationWrite) }, nil},
	}
	for _, step := range steps {
		step.change()
		if err := writeAnonymously(c.Addrs(), topic); !errors.Is(err, step.want) {
			t.Errorf("%s: a client writes with %v, want %v", step.name, err, step.want)
		}
	}
	if n := c.Records(t, topic); n != 3 {
		t.Errorf("the topic has %d records, want the administrator's and two", n)
	}
}

func writeAnonymously(addrs []string, topic string) error {
	config := ClientConfig()
	config.Producer.Idempotent = false // its id would be refused before the record
	producer, err := sarama.NewSyncProducer(addrs, config)
	if err != nil {
		return err
	}
	_, _, err = producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("x")})
	return errors.Join(err, producer.Close())
}
