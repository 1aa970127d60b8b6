package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/admin"
	"github.com/retryd/retryd/internal/control"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/internal/tier"
)

// makeControl makes the keeper of pauses and stops, and lets relays have theirs kept. It
// tells the relays that there are when it runs.
func (d *daemon) makeControl() {
	topic := d.config.Topics.Control
	names, mains := map[string]string{}, []string{}
	for _, c := range d.config.Relays {
		names[c.Group] = c.Name
		mains = append(mains, c.Topic)
	}
	d.control = control.New(control.Deps{
		Kafka: d.config.Kafka, Topics: d.config.Topics, Producers: d.deps.Producers, Log: d.log, Limiter: d.deps.Limiter,
		Relays: names, Like: mains,
		Changed: d.haltOrResume,
		Read:    func() { d.eachRelay(func(r *tier.Relay) { r.ControlRead(topic) }) },
		Unread:  func(err error) { d.eachRelay(func(r *tier.Relay) { r.ControlUnread(topic, err) }) },
		Looked:  func(err error) { d.eachRelay(func(r *tier.Relay) { r.ControlLooked(topic, err) }) },
		Ignored: d.deps.Metrics.ControlRecordIgnored,
		Away:    d.brokersAway,
	})
	d.deps.Stop = d.control.Stop
}

// brokersAway reports whether it is told already that brokers do not answer.
func (d *daemon) brokersAway() bool {
	return d.trouble.has(causeKafka) || slices.ContainsFunc(d.relays, (*tier.Relay).BrokersAway)
}

func (d *daemon) eachRelay(tell func(*tier.Relay)) {
	for _, r := range d.relays {
		tell(r)
	}
}

func (d *daemon) haltOrResume(group string, h *status.Halt) {
	i := slices.IndexFunc(d.config.Relays, func(c tier.Config) bool { return c.Group == group })
	if h == nil {
		d.relays[i].Resume()
		return
	}
	d.relays[i].Halt(*h)
}

// pause has a relay paused on all instances.
func (d *daemon) pause(ctx context.Context, name string, o admin.Order) (admin.Halted, error) {
	i, err := d.relayNamed(name)
	if err != nil {
		return admin.Halted{}, err
	}
	group := d.config.Relays[i].Group
	done := admin.Halted{Relay: name, Was: d.control.State(group)}
	done.Halt, err = d.control.Pause(ctx, group, o.Reason, o.By)
	return done, why(err)
}

// resume has a relay deliver again on all instances. What its endpoint did stays.
func (d *daemon) resume(ctx context.Context, name string, o admin.Order) (admin.Halted, error) {
	i, err := d.relayNamed(name)
	if err != nil {
		return admin.Halted{}, err
	}
	group := d.config.Relays[i].Group
	done := admin.Halted{Relay: name, Was: d.control.State(group)}
	if err := d.control.Resume(ctx, group); err != nil {
		return done, why(err)
	}
	d.log.Info("relay is told to deliver again", zap.String(logging.FieldRelay, name), zap.String("by", o.By), zap.String(logging.FieldReason, o.Reason))
	done.Endpoint = d.relays[i].EndpointHolds()
	return done, nil
}

// relayNamed returns the place of a relay.
func (d *daemon) relayNamed(name string) (int, error) {
	var names []string
	for i, c := range d.config.Relays {
		if c.Name == name {
			return i, nil
		}
		names = append(names, c.Name)
	}
	return 0, fmt.Errorf("%w: %q; there is %s", admin.ErrNoRelay, name, strings.Join(names, ", "))
}

// why returns an error of Kafka's in words for people.
func why(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(kafka.Explain(err))
}
