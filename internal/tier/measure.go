package tier

import (
	"errors"
	"time"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
)

// offsets maps topic and partition to an offset, or to a time in epoch milliseconds.
type offsets map[string]map[int32]int64

func (o offsets) set(topic string, p int32, value int64) {
	if o[topic] == nil {
		o[topic] = map[int32]int64{}
	}
	o[topic][p] = value
}

func (o offsets) get(topic string, p int32) (value int64, ok bool) {
	value, ok = o[topic][p]
	return value, ok
}

// Measure measures, for all relays at once, how many records of the assigned
// partitions are due and how many are held, how old they are, and how many records the
// dead-letter and review topics have. It sets the metrics, and what Status tells. It asks each
// broker for offsets three times at most.
//
// An error says what could not be measured; the rest was. It says nothing of a topic that
// does not exist: its relay does. What could not be measured keeps its last numbers for a
// few measurements, and has none after that. kafka.Unreachable holds for the error only
// if nobody answered.
func Measure(cluster *kafka.Cluster, relays []*Relay, now time.Time) error {
	m := measurement{now: now}
	for _, r := range relays {
		m.add(r)
	}
	topics := m.topics()
	if len(topics) == 0 {
		return m.knock(cluster)
	}
	err := m.ask(cluster, topics)
	for _, s := range m.sessions {
		m.measure(s)
	}
	for _, r := range relays {
		m.countEnded(r)
	}
	return err
}

// ask asks for the offsets, and goes on asking only while somebody answers.
func (m *measurement) ask(cluster *kafka.Cluster, topics map[string][]int32) error {
	ends, errEnds := cluster.Ends(topics)
	if len(ends) == 0 && cluster.Silent() {
		return errEnds
	}
	m.ends = ends
	begins, errBegins := cluster.Begins(m.deadLetters())
	m.asked = m.youngSince()
	young, errYoung := cluster.Since(m.asked)
	m.begins, m.young = begins, young
	return firstOf(errEnds, errBegins, errYoung)
}

// firstOf returns the first error that is not of a missing topic, if any, as the words
// of a cluster that answers: a part of it may be unreachable.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil && !kafka.NoTopic(err) {
			return errors.New(kafka.Explain(err))
		}
	}
	return nil
}

// measurement is one measurement: what it is about, and what the cluster said.
type measurement struct {
	now          time.Time
	relays       []*Relay
	sessions     []*session
	begins, ends offsets
	asked, young offsets // times, and where the first record is that is younger
}

// knock asks for the main topics where there is nothing to measure yet, only to see
// whether anybody answers.
func (m *measurement) knock(cluster *kafka.Cluster) error {
	var names []string
	for _, r := range m.relays {
		names = append(names, r.config.Topic)
	}
	_, _, err := cluster.Existing(names...)
	return err
}

// add takes in a relay, and has its claims look at what they hold.
func (m *measurement) add(r *Relay) {
	m.relays = append(m.relays, r)
	for _, c := range r.members.all() {
		s := c.session.Load()
		if s == nil {
			continue
		}
		m.sessions = append(m.sessions, s)
		for _, claim := range s.claimed() {
			claim.ask()
		}
	}
}

// topics lists the partitions whose ends are needed.
func (m *measurement) topics() map[string][]int32 {
	list := m.deadLetters()
	for _, s := range m.sessions {
		for p := range s.claimed() {
			list[s.consumer.source.topic] = append(list[s.consumer.source.topic], p)
		}
	}
	return list
}

func (m *measurement) deadLetters() map[string][]int32 {
	list := map[string][]int32{}
	for _, r := range m.relays {
		for _, topic := range r.counted() {
			list[topic.Name] = numbers(topic.Partitions)
		}
	}
	return list
}

// youngSince says from when on a record of a partition is too young to be due, for
// the partitions where that matters.
func (m *measurement) youngSince() offsets {
	times := offsets{}
	for _, s := range m.sessions {
		src := s.consumer.source
		if !src.waits() {
			continue
		}
		for p, c := range s.claimed() {
			if end, known := m.ends.get(src.topic, p); known && c.hasUnread(end) {
				times.set(src.topic, p, m.now.Add(-src.delay).UnixMilli()+1)
			}
		}
	}
	return times
}

// measure sets what is known of a session's partitions.
func (m *measurement) measure(s *session) {
	topic := s.consumer.source.topic
	var oldest time.Duration
	for p, c := range s.claimed() {
		end, known := m.ends.get(topic, p)
		young := int64(-1) // what is not read is due
		if _, asked := m.asked.get(topic, p); known && asked {
			young, known = m.young.get(topic, p)
		}
		if !known {
			s.miss(p)
			continue
		}
		at := c.reading(m.now, end, young)
		oldest = max(oldest, at.Oldest)
		s.note(p, at)
	}
	s.noteAge(oldest)
	s.noteWindow()
}

// note keeps a measurement, unless the partition was lost meanwhile: it is somebody
// else's then.
func (s *session) note(p int32, at metrics.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ours := s.claims[p]; !ours {
		return
	}
	s.consumer.metrics.SetPartition(p, at)
	if s.measured == nil {
		s.measured, s.missed = map[int32]metrics.Partition{}, map[int32]int{}
	}
	s.measured[p] = at
	delete(s.missed, p)
}

// missesUntilUnknown is how many measurements in a row must fail before the numbers of
// a partition count as unknown: a leader that moves takes no longer.
const missesUntilUnknown = 3

// miss takes back what is known of a partition, once it could not be measured for some
// time: an old number looks like a new one.
func (s *session) miss(p int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.measured[p]; !known {
		return
	}
	if s.missed[p]++; s.missed[p] == missesUntilUnknown {
		s.consumer.metrics.RemovePartition(p)
		delete(s.measured, p)
		delete(s.missed, p)
	}
}

func (s *session) noteWindow() {
	var w metrics.Window
	for _, c := range s.claimed() {
		n, size := c.records()
		used, pause := c.room()
		w.Add(n, size, used, pause)
		w.Repeating = max(w.Repeating, c.repeating())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.consumer.metrics.SetWindow(w)
	}
}

// counted returns the topics whose depth is told, none before they were found: the
// dead-letter topic, and the review topic if there is one.
func (r *Relay) counted() []kafka.Topic {
	rt := r.routes.Load()
	if rt == nil {
		return nil
	}
	var topics []kafka.Topic
	for _, name := range []string{r.config.DLT.Topic, r.config.Review.Topic} {
		if topic := rt.topics[name]; topic.Partitions > 0 {
			topics = append(topics, topic)
		}
	}
	return topics
}

// countEnded sets the depth of the topics in which a relay's records end.
func (m *measurement) countEnded(r *Relay) {
	for _, topic := range r.counted() {
		n, known := m.depth(topic)
		switch {
		case !known:
		case topic.Name == r.config.DLT.Topic:
			r.metrics.SetDeadLetterRecords(n)
			r.deadLetters.Store(&n)
		default:
			r.reviews.Store(&n)
		}
	}
}

// depth is the number of records in a topic, if all of it is known.
func (m *measurement) depth(t kafka.Topic) (n int64, known bool) {
	for _, p := range numbers(t.Partitions) {
		begin, hasBegin := m.begins.get(t.Name, p)
		end, hasEnd := m.ends.get(t.Name, p)
		if !hasBegin || !hasEnd {
			return 0, false
		}
		n += max(0, end-begin)
	}
	return n, true
}
