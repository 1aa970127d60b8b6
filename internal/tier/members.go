package tier

import (
	"slices"
	"sync"
)

// members are a relay's consumers. They are safe for concurrent use.
type members struct {
	mu   sync.Mutex
	list []*consumer
}

// expect names all consumers, before any of them runs.
func (m *members) expect(consumers []*consumer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.Clone(consumers)
}

// forget takes out the consumer of a retired tier.
func (m *members) forget(c *consumer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.DeleteFunc(m.list, func(each *consumer) bool { return each == c })
}

// all returns the consumers, main's first; none before the topics stood once.
func (m *members) all() []*consumer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}
