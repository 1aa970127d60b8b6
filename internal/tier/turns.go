package tier

import "sync"

// turns is the order in which a relay's workers serve its claims: whichever has a
// record that is due gets one taken and goes to the end. So each is served in its turn,
// however much the others have. It is safe for concurrent use.
type turns struct {
	mu    sync.Mutex
	added sync.Cond // with mu; signalled for each claim that is added
	first *claim
	last  *claim
	over  bool
}

func newTurns() *turns {
	t := &turns{}
	t.added.L = &t.mu
	return t
}

// add gives a claim its turn after those that have one, unless it has one already.
func (t *turns) add(c *claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.hasTurn {
		return
	}
	c.hasTurn = true
	if t.first == nil {
		t.first = c
	} else {
		t.last.behind = c
	}
	t.last = c
	t.added.Signal()
}

// wait takes the claim whose turn it is, and waits until one has a turn. It returns nil
// once turns are over.
func (t *turns) wait() *claim {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.first == nil && !t.over {
		t.added.Wait()
	}
	if t.over {
		return nil
	}
	c := t.first
	t.first, c.behind = c.behind, nil
	c.hasTurn = false
	return c
}

// next waits for a record that is due and takes it. It returns nil once turns are over.
func (t *turns) next() *job {
	for {
		c := t.wait()
		if c == nil {
			return nil
		}
		j, more := c.takeDue()
		if more {
			t.add(c)
		}
		if j != nil {
			return j
		}
	}
}

// end lets nobody wait any more.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.added.Broadcast()
}
