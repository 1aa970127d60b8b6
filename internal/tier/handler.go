package tier

import (
	"context"

	"github.com/IBM/sarama"
)

// handler adapts a consumer to sarama's group handler.
type handler struct{ c *consumer }

// Setup begins a session before any claim is read.
func (h handler) Setup(s sarama.ConsumerGroupSession) error {
	h.c.metrics.Rebalanced()
	begun, err := h.c.begin(s)
	if err != nil {
		return err
	}
	h.c.session.Store(begun)
	h.c.joining.Store(false)
	h.c.relay.over(kindMember, h.c.source.group)
	return nil
}

// ConsumeClaim reads one partition until it is revoked.
func (h handler) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	running := h.c.session.Load()
	return running.consume(s.Context(), claim)
}

// Cleanup ends the session after all claims have returned. It is also called after
// a Setup that failed, when there is none.
func (h handler) Cleanup(gs sarama.ConsumerGroupSession) error {
	if s := h.c.session.Load(); s != nil {
		h.c.lost(context.Cause(gs.Context()))
		s.finish()
		s.forget()
		h.c.session.Store(nil)
	}
	return nil
}
