package tier

import (
	"context"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
)

// clientConfig has the client fetch no more of a partition than the memory that it has in
// any case when all partitions of main hold a backlog. Of a tier's it fetches as much,
// although these need memory too: most of them hold little.
func (c *consumer) clientConfig() (config *sarama.Config, hangUp func()) {
	r := c.relay
	main := r.routes.Load().topics[r.config.Topic]
	return r.deps.Kafka.ConsumerConfig(r.deps.Kafka.RebalanceTimeout(r.config.Endpoint.Timeout), r.deps.Groups, r.budget.Each(int64(main.Partitions)))
}

// connect makes the client of the group and its first connections, in a slot. The join
// is no part of that: a new group gathers for 3 s
// (group.initial.rebalance.delay.ms), and waits for its other members.
func (c *consumer) connect(ctx context.Context, config *sarama.Config) (sarama.Client, error) {
	leave, ok := c.relay.deps.enter(ctx)
	if !ok {
		return nil, ctx.Err()
	}
	defer leave()
	c.joining.Store(true)
	defer c.joined()
	client, err := sarama.NewClient(c.relay.deps.Kafka.Brokers, config) // which asks nobody yet
	if err != nil {
		return nil, err
	}
	if err = c.reach(ctx, client); err == nil {
		c.group, err = sarama.NewConsumerGroupFromClient(c.source.group, client)
	}
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return client, nil
}

// reach finds the topic's partitions and the group's coordinator, and connects to it.
func (c *consumer) reach(ctx context.Context, client sarama.Client) error {
	if err := client.RefreshMetadata(c.source.topic); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	coordinator, err := client.Coordinator(c.source.group)
	if err != nil {
		return err
	}
	_, err = coordinator.Connected() // waits for the connection that is being opened
	return err
}

// interrupt hangs up on a member that connects, or waits to join, once ctx has ended:
// the client library cannot be told to stop meanwhile. It tries again each second,
// since the library may begin another request first. A session with records in flight is
// left alone. One that is without any for a second at least, which most last commits do
// not take, may be joining another generation (cooperative-sticky), and is hung up on too:
// commits have a connection of their own. What follows, up to the request to leave the
// group, is left alone unless a broker that hangs makes that last too long.
func (c *consumer) interrupt(ctx context.Context, ended <-chan struct{}, hangUp func()) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	idle := time.Now() // since when nothing is in flight
	again := time.NewTicker(rejoinPause)
	defer again.Stop()
	for {
		if c.inFlight() {
			idle = time.Now()
		}
		c.cutOff(hangUp, time.Since(idle))
		select {
		case <-ended:
			return
		case <-again.C:
		}
	}
}

// inFlight reports whether a claim of the session still holds records, or waits for
// those that are outside.
func (c *consumer) inFlight() bool {
	s := c.session.Load()
	return s != nil && s.running.Load() > 0
}

// cutOff hangs up on a member that joins or may do so, and on any that is late. Nothing
// of it is in flight for as long as idle, less a tick.
func (c *consumer) cutOff(hangUp func(), idle time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	joining := c.joining.Load() || c.session.Load() != nil && idle > 2*rejoinPause
	if joining {
		c.cut.Store(true)
	}
	if joining || idle > kafka.ForwardTimeout {
		hangUp()
	}
}

// left notes that the session is over: as joined does, for what follows it.
func (c *consumer) left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session.Store(nil)
}

// joined notes that the member does not join any more: once it returns, cutOff does not
// break what follows.
func (c *consumer) joined() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joining.Store(false)
}

// hangUpOn closes the connection to a group's coordinator; the next request opens
// another one.
func hangUpOn(client sarama.Client, group string) {
	if coordinator, err := client.Coordinator(group); err == nil {
		_ = coordinator.Close()
	}
}
