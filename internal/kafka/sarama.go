// Package kafka is the cluster as retryd uses it: client configurations, the plan
// of topics, commits of its own, and the producers of forwards.
//
// It knows topics, groups and offsets, but no relay, no schedule and no header.
package kafka

import (
	"context"
	"time"

	"github.com/IBM/sarama"
)

// CommitTimeout bounds one request to commit offsets: no try begins later than that
// after the first, and each waits that long for its answer.
const CommitTimeout = 5 * time.Second

// ForwardTimeout is how long a stopping consumer waits for the acknowledgement of
// a forward. A forward that takes longer is not completed, so it is repeated.
const ForwardTimeout = 10 * time.Second

func (c Config) base() *sarama.Config {
	s := sarama.NewConfig()
	s.ClientID = c.ClientID
	s.Version = sarama.MaxVersion             // negotiated down per request
	s.Metadata.AllowAutoTopicCreation = false // a typo must not make a topic
	s.Metadata.RefreshFrequency = 30 * time.Second
	s.MetricRegistry = noMetrics()
	return s
}

// dialTimeout bounds one attempt to connect.
const dialTimeout = 5 * time.Second

// ConsumerConfig is for one consumer group. rebalance is how long a member may
// take to let go of its partitions, groups is how many groups this process is a
// member of, share is how many bytes of a partition it has memory for in any case. hangUp
// breaks the client's open connections, and lets it open new ones:
// the client library cannot be interrupted while it waits for the other members of
// the group to join.
//
// Marks are never used and automatic commits are off: a mark would overwrite the
// metadata that is committed beside the offset.
func (c Config) ConsumerConfig(rebalance time.Duration, groups int, share int64) (s *sarama.Config, hangUp func()) {
	s = c.base()
	connections := newLine()
	connections.use(s)
	s.Metadata.Full = false // only of the topic in use: a cluster may have thousands
	s.Consumer.Offsets.AutoCommit.Enable = false
	s.Consumer.Offsets.Initial = sarama.OffsetOldest // newest would skip records of new partitions
	s.Consumer.Group.ResetInvalidOffsets = true
	s.Consumer.Group.Session.Timeout = c.SessionTimeout
	s.Consumer.Group.Heartbeat.Interval = c.heartbeat()
	s.Consumer.Group.Rebalance.Timeout = rebalance
	// A join is answered when the other members have joined, or are given up.
	s.Net.ReadTimeout = max(s.Net.ReadTimeout, rebalance+5*time.Second)
	s.Consumer.Group.Rebalance.GroupStrategies = c.strategies()
	s.Consumer.Group.InstanceId = c.InstanceID
	s.Consumer.IsolationLevel = sarama.ReadCommitted
	s.Consumer.MaxProcessingTime = 10 * time.Millisecond // one slow partition delays the others of its broker by at most this
	s.Consumer.MaxWaitTime = c.fetchWait(groups)
	s.Consumer.Fetch.Default = fetchBytes(groups, share)
	s.Consumer.Fetch.Max = 0 // a record of any size is fetched
	s.Consumer.Fetch.MaxBytes = 8 * s.Consumer.Fetch.Default
	s.Consumer.Return.Errors = true
	return s, connections.hangUp
}

// strategies are the ways in which this member may be given partitions, its favourite
// first; a group takes one that all its members know. sticky members also know
// cooperative-sticky, in which they too let go of everything at each rebalance, so that
// members of both kinds work together while the option is being changed.
func (c Config) strategies() []sarama.BalanceStrategy {
	cooperative := sarama.NewBalanceStrategyCooperativeSticky()
	if c.PartitionAssignment == AssignCooperativeSticky {
		return []sarama.BalanceStrategy{cooperative}
	}
	return []sarama.BalanceStrategy{sarama.NewBalanceStrategySticky(), cooperative}
}

// RebalanceTimeout is how long a member of a group needs at most to let go of its
// partitions: to notice, to finish the attempt in flight, to forward and to commit.
func (c Config) RebalanceTimeout(endpointTimeout time.Duration) time.Duration {
	return c.heartbeat() + c.SessionTimeout/2 + endpointTimeout + ForwardTimeout + CommitTimeout
}

// fetchWait is how long a broker holds a fetch that finds no record; one that it has
// or gets is sent at once. Each group has a client of its own, which fetches again
// and again, so it grows with them: an idle process makes about 100 fetches a second
// at each broker, up to 200 groups. It is short because the client library sends
// one request after the other: heartbeats and the goodbye to a group wait behind a
// fetch at the same broker (sarama v1.61.1, client.go:1187). So it leaves a session
// the time for them.
func (c Config) fetchWait(groups int) time.Duration {
	wait := max(25, min(groups, 200)) * 10
	return min(time.Duration(wait)*time.Millisecond, c.SessionTimeout/3)
}

// fetchBytes is how much of a partition a broker returns at once; of all partitions of a
// group it returns eight times that at most. What is fetched is held, also beyond a full
// window: so all groups together may fetch some 64 MiB from each broker (beyond 128 groups
// 512 KiB each), and of each partition no more than its share. But many small fetches cost
// a third of the throughput of records of 4 KiB.
func fetchBytes(groups int, share int64) int32 {
	const most, least, together = 1 << 20, 64 << 10, 64 << 20
	fair := int64(max(together/8/max(groups, 1), least))
	return int32(min(fair, max(share, leastShare), most))
}

// leastShare is what is fetched of a partition even if there is no memory for it: less
// is mostly requests.
const leastShare = 16 << 10

func (c Config) heartbeat() time.Duration {
	return min(3*time.Second, c.SessionTimeout/3)
}

// adminConfig is for a client whose every call is over soon, with an answer or an
// error: each request is sent twice to each broker at most, and the caller tries
// again.
func (c Config) adminConfig(ctx context.Context) *sarama.Config {
	s := c.base()
	dialer{ctx, dialTimeout}.use(s)
	s.Net.ReadTimeout, s.Net.WriteTimeout = CommitTimeout, CommitTimeout
	s.Admin.Retry.Max = 1                         // a connection that a broker closed for idleness is opened again
	s.Admin.Timeout = CommitTimeout - time.Second // the controller gives up before its client does
	s.Metadata.Retry.Max = 0
	s.Metadata.Timeout = 2*CommitTimeout - time.Second // two brokers that hang: the next call asks others
	return s
}

// producerConfig is for an idempotent producer of records up to maxMessageBytes,
// which gives up on everything when ctx ends. The limit is the client's, not the
// topic's: topics with different limits need different producers.
func (c Config) producerConfig(ctx context.Context, maxMessageBytes int) *sarama.Config {
	s := c.base()
	dialer{ctx, dialTimeout}.use(s)
	s.Net.ReadTimeout = 15 * time.Second // more than the 10 s that a broker waits for its replicas
	s.Net.MaxOpenRequests = 1            // required by idempotence
	s.Producer.Idempotent = true
	s.Producer.RequiredAcks = sarama.WaitForAll
	s.Producer.Return.Successes = true
	s.Producer.Return.Errors = true
	s.Producer.Compression = sarama.CompressionLZ4
	s.Producer.MaxMessageBytes = maxMessageBytes
	s.Producer.Partitioner = sarama.NewManualPartitioner
	s.Producer.Retry.Max = 10
	s.Producer.Retry.BackoffFunc = pauseUnless(ctx, 100*time.Millisecond)
	s.Producer.Transaction.Retry.Max = 5 // of asking for the producer's id; a broker that just started loads for a moment
	s.Producer.Transaction.Retry.BackoffFunc = pauseUnless(ctx, 500*time.Millisecond)
	// Without a leader the producer asks for metadata this often before it fails
	// the records: it turns a broker's outage into waiting.
	s.Metadata.Retry.Max = 40
	s.Metadata.Retry.BackoffFunc = pauseUnless(ctx, 250*time.Millisecond)
	s.Metadata.Timeout = 15 * time.Second // more than all pauses; for brokers that hang
	return s
}

// pauseUnless is a constant pause between retries, none once ctx has ended.
func pauseUnless(ctx context.Context, d time.Duration) func(retries, maxRetries int) time.Duration {
	return func(int, int) time.Duration {
		if ctx.Err() != nil {
			return 0
		}
		return d
	}
}
