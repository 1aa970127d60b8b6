package kafka

import (
	"slices"

	"github.com/IBM/sarama"
)

// leaderClient is a producer's client that does not wait for topics that do not exist. A
// producer asks for metadata when a write was refused, and writes nothing to that broker
// meanwhile, to no topic (sarama v1.61.1, async_producer.go:1446): with the patience that
// an outage takes, one missing topic would hold up all others for 10 s and more.
type leaderClient struct{ sarama.Client }

// RefreshMetadata waits as configured until each of the topics that exist has a leader.
// Of the others there is nothing to learn: their next write is refused again, which is no
// error here, or the producer would soon say of them that they have no leader.
func (c leaderClient) RefreshMetadata(topics ...string) error {
	missing := c.missing(topics)
	present := slices.DeleteFunc(slices.Clone(topics), func(t string) bool { return slices.Contains(missing, t) })
	if len(missing) > 0 && len(present) == 0 {
		return nil // without a topic, it would be about all
	}
	return c.Client.RefreshMetadata(present...)
}

// missing asks a broker, once, which of the topics do not exist. None do for sure while
// nobody answers.
func (c leaderClient) missing(topics []string) (names []string) {
	broker := c.LeastLoadedBroker()
	if broker == nil || len(topics) == 0 {
		return nil
	}
	response, err := broker.GetMetadata(sarama.NewMetadataRequest(c.Config().Version, topics))
	if err != nil {
		return nil
	}
	for _, t := range response.Topics {
		if t.Err == sarama.ErrUnknownTopicOrPartition {
			names = append(names, t.Name)
		}
	}
	return names
}
