package control

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
)

// retryPause is how long a cluster that did not answer is left alone.
const retryPause = time.Second

// passingBound is how long what passes by itself may last before it is told. A leader moves
// within 10 s or so of its broker's end, and brokers of which none answers are told as such
// within 25 s.
const passingBound = 30 * time.Second

// errAnew ends the reading of a topic whose name another one has now.
var errAnew = errors.New("it was made anew")

// Follow makes the topic if it has to, and reads it until ctx ends: from its beginning each
// time that something broke, since what was compacted away meanwhile would be missed
// otherwise.
func (c *Control) Follow(ctx context.Context, cluster *kafka.Cluster) {
	for ctx.Err() == nil {
		topic, err := c.look(cluster)
		if err == nil {
			err = c.readFrom(ctx, cluster, topic)
		}
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errAnew) {
			continue
		}
		if c.lasts(err, time.Now()) {
			c.deps.Unread(err)
		}
		sleep(ctx, patience(err))
	}
}

// patience is how long to wait after an error: what takes a person is looked at again in a
// while.
func patience(err error) time.Duration {
	if takesAPerson(err) {
		return lookInterval
	}
	return retryPause
}

func takesAPerson(err error) bool {
	planned := new(kafka.PlanError)
	return errors.As(err, &planned)
}

// passes tells what ends by itself, as a rule, and within seconds: a connection that was
// closed, a leader that moves, a topic that was made and is not known everywhere yet.
func passes(err error) bool {
	return !takesAPerson(err) && (kafka.Unreachable(err) || kafka.NoTopic(err))
}

// lasts reports whether to tell an error: one that passes only once it has lasted for long.
// While no broker answers that is the news, and what follows from it is none.
func (c *Control) lasts(err error, now time.Time) bool {
	if !passes(err) {
		return true
	}
	if c.failed.IsZero() || c.deps.Away() {
		c.failed = now
	}
	return now.Sub(c.failed) >= passingBound
}

// readFrom reads a topic to its end, and follows it until something breaks.
func (c *Control) readFrom(ctx context.Context, cluster *kafka.Cluster, topic kafka.Topic) error {
	r, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	anew := c.id != [16]byte{} && c.id != topic.ID
	if c.id != topic.ID {
		c.id, c.judged = topic.ID, 0
	}
	all, err := c.readAll(r)
	if err != nil {
		return err
	}
	c.renew(all, c.judged, anew)
	c.failed = time.Time{}
	c.deps.Read()
	beside := looks{due: time.Now().Add(lookInterval)}
	defer beside.running.Wait()
	for ctx.Err() == nil {
		entries, _, err := r.Read()
		if err != nil {
			return err
		}
		for _, e := range entries {
			if group, w, ok := c.judge(e); ok {
				c.learn(group, w)
			}
		}
		if err := c.relook(&beside, cluster, topic); err != nil {
			return err
		}
	}
	return nil
}

// readAll returns what the topic says of the process's relays by now.
func (c *Control) readAll(r reader) (map[string]said, error) {
	all := map[string]said{}
	for {
		entries, end, err := r.Read()
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if group, w, ok := c.judge(e); ok {
				all[group] = w
			}
		}
		if end {
			return all, nil
		}
	}
}

// judge returns what an entry says of a relay of this process. An entry that makes no sense
// is as if it were not there, and is told once.
func (c *Control) judge(e kafka.Entry) (group string, w said, ok bool) {
	first := e.Offset >= c.judged
	c.judged = max(c.judged, e.Offset+1)
	w.offset = e.Offset
	group, ok = groupOf(e.Key)
	if !ok {
		return "", w, false
	}
	if e.Value != nil {
		h, err := decode(e.Value)
		if err != nil {
			c.ignore(e, err, first)
			return "", w, false
		}
		w.halt = &h
	}
	_, ok = c.deps.Relays[group]
	return group, w, ok
}

func (c *Control) ignore(e kafka.Entry, err error, first bool) {
	if !first {
		return
	}
	c.deps.Ignored()
	c.deps.Log.Warn("record of the control topic makes no sense and is ignored", zap.String(logging.FieldTopic, c.deps.Topics.Control),
		zap.Int64(logging.FieldOffset, e.Offset), logging.Key(e.Key), zap.String(logging.FieldError, err.Error()))
}

func (c *Control) openTopic(ctx context.Context) (reader, error) {
	return kafka.OpenReader(ctx, c.deps.Kafka, c.deps.Topics.Control)
}
