package kafka

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// ErrFenced says that a commit came from a member that the group no longer knows
// in this generation: its partitions belong to somebody else.
var ErrFenced = errors.New("fenced: the member is no longer part of the group's generation")

// Committed is one partition's position in a group: the next offset to be read,
// and the metadata kept beside it (a Kafka string of at most 4,096 characters).
type Committed struct {
	Offset   int64
	Metadata string
}

// Offsets maps topic and partition to a position.
type Offsets map[string]map[int32]Committed

// Set stores a position.
func (o Offsets) Set(topic string, partition int32, c Committed) {
	if o[topic] == nil {
		o[topic] = make(map[int32]Committed)
	}
	o[topic][partition] = c
}

// Member is one member of a consumer group in one generation.
type Member struct {
	Group      string
	Instance   string // of a static member (KIP-345), else empty
	ID         string
	Generation int32
}

// Committed returns what the group committed for the given partitions. A
// partition without a commit is left out. A *PlanError says that somebody has to
// grant access.
func (c *Cluster) Committed(group string, topics map[string][]int32) (Offsets, error) {
	resp, err := c.admin.ListConsumerGroupOffsets(group, topics)
	if errors.Is(err, sarama.ErrGroupIDNotFound) {
		return Offsets{}, nil // some brokers say so of a group never seen
	}
	if err != nil {
		_ = c.client.RefreshCoordinator(group) // the next try may find another one
		return nil, cmp.Or(groupDenied(group, err), fmt.Errorf("fetch the committed offsets of group %s: %w", group, err))
	}
	offsets := Offsets{}
	for topic, partitions := range topics {
		for _, p := range partitions {
			block := resp.GetBlock(topic, p)
			if block == nil { // nothing said is not the same as nothing committed
				return nil, fmt.Errorf("fetch the committed offset of group %s, %s/%d: %w", group, topic, p, sarama.ErrIncompleteResponse)
			}
			if !errors.Is(block.Err, sarama.ErrNoError) {
				return nil, cmp.Or(offsetDenied(group, topic, block.Err), fmt.Errorf("fetch the committed offset of group %s, %s/%d: %w", group, topic, p, block.Err))
			}
			if block.Offset >= 0 {
				offsets.Set(topic, p, Committed{Offset: block.Offset, Metadata: block.Metadata})
			}
		}
	}
	return offsets, nil
}

// Commit writes all positions, in one request as far as Kafka takes them at once.
// ErrFenced is final for the member; after any other error nothing may be taken as
// committed, and the caller tries again. A *PlanError says that somebody has to grant
// access first.
//
// Unlike a group session's marks, a commit may repeat an offset with other
// metadata, and its error is known.
func (c *Cluster) Commit(m Member, offsets Offsets) error {
	for _, req := range m.commits(c.client.Config(), offsets) {
		if err := c.commit(m.Group, req); err != nil {
			return err
		}
	}
	return nil
}

const (
	// commitSize bounds a commit, in bytes: Kafka stores it as one batch, of which
	// __consumer_offsets takes 1 MiB (max.message.bytes).
	commitSize = 768 << 10
	// positionSize is more than a stored position takes beside its metadata and the names
	// of its group and topic.
	positionSize = 64
)

// commits are the requests that commit positions.
func (m Member) commits(config *sarama.Config, offsets Offsets) (requests []*sarama.OffsetCommitRequest) {
	var request *sarama.OffsetCommitRequest
	room := 0
	for topic, partitions := range offsets {
		for p, at := range partitions {
			size := positionSize + len(m.Group) + len(topic) + len(at.Metadata)
			if size > room {
				request, room = m.commitRequest(config), commitSize
				requests = append(requests, request)
			}
			request.AddBlockWithLeaderEpoch(topic, p, at.Offset, -1, 0, at.Metadata)
			room -= size
		}
	}
	return requests
}

func (m Member) commitRequest(config *sarama.Config) *sarama.OffsetCommitRequest {
	req := sarama.NewOffsetCommitRequest(config, m.Group)
	req.ConsumerID, req.ConsumerGroupGeneration = m.ID, m.Generation
	if m.Instance != "" {
		req.GroupInstanceId = &m.Instance
	}
	return req
}

// commit makes one request, until it is answered by the group's coordinator.
func (c *Cluster) commit(group string, req *sarama.OffsetCommitRequest) error {
	deadline := time.Now().Add(CommitTimeout)
	for {
		err := c.commitOnce(group, req)
		if !errors.Is(err, errNoCoordinator) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(commitBackoff)
		_ = c.client.RefreshCoordinator(group) // if it fails, the next try says so
	}
}

// commitBackoff is the pause before a group's coordinator is looked for again.
const commitBackoff = 100 * time.Millisecond

// errNoCoordinator asks Commit for another try. Who reads it knows of the last one.
var errNoCoordinator = fmt.Errorf("tried for %s", CommitTimeout)

func (c *Cluster) commitOnce(group string, req *sarama.OffsetCommitRequest) error {
	coordinator, err := c.client.Coordinator(group)
	if errors.Is(err, sarama.ErrConsumerCoordinatorNotAvailable) {
		err = fmt.Errorf("%w: %w", errNoCoordinator, err)
	}
	if err != nil {
		return cmp.Or(groupDenied(group, err), fmt.Errorf("find the coordinator of group %s: %w", group, err))
	}
	resp, err := coordinator.CommitOffset(req)
	if err != nil { // the connection broke: the next commit opens a new one
		_ = coordinator.Close()
		_ = c.client.RefreshCoordinator(group)
		return fmt.Errorf("commit the offsets of group %s: %w", group, err)
	}
	for topic, partitions := range resp.Errors {
		for p, kerr := range partitions {
			if err := commitError(kerr); err != nil {
				return cmp.Or(offsetDenied(group, topic, err), fmt.Errorf("commit the offset of group %s, %s/%d: %w", group, topic, p, err))
			}
		}
	}
	return nil
}

// commitError tells what a try later may mend, and what is final, from the rest.
func commitError(kerr sarama.KError) error {
	switch kerr {
	case sarama.ErrNoError:
		return nil
	case sarama.ErrNotCoordinatorForConsumer, sarama.ErrConsumerCoordinatorNotAvailable, sarama.ErrOffsetsLoadInProgress:
		return fmt.Errorf("%w: %w", errNoCoordinator, kerr)
	case sarama.ErrIllegalGeneration, sarama.ErrUnknownMemberId, sarama.ErrFencedInstancedId, sarama.ErrGroupIDNotFound:
		return fmt.Errorf("%w: %w", ErrFenced, kerr)
	default:
		return kerr
	}
}
