package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/retryd/retryd/internal/app"
	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/tier"
)

// The topics of the two acts.
const (
	walkTopic  = "library.loan.overdue"
	countTopic = "library.loan.reminder"
)

// stage is what the acts play on.
type stage struct {
	out      io.Writer
	brokers  []string
	endpoint *endpoint
	app      *application
}

// walk shows one record that never succeeds.
func (s stage) walk(ctx context.Context) error {
	fmt.Fprintf(s.out, "One record that the endpoint never accepts, and three tiers:\n\n")
	relay := s.relay(walkTopic, time.Second, 2*time.Second, 3*time.Second)
	return s.play(ctx, relay, "debug", func(ctx context.Context) error {
		if err := s.app.write(walkTopic, 1); err != nil {
			return err
		}
		if err := s.app.await(ctx, relay.DLT.Topic, 1); err != nil {
			return err
		}
		dead, err := s.app.read(ctx, relay.DLT.Topic)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "\nThe dead letter in %s, key %s, value %s:\n\n", relay.DLT.Topic, dead[0].Key, dead[0].Value)
		for _, h := range dead[0].Headers {
			fmt.Fprintf(s.out, "  %-22s = %s\n", h.Key, h.Value)
		}
		return nil
	})
}

// count shows that every failure costs one record per hop, and no more.
func (s stage) count(ctx context.Context) error {
	fmt.Fprintf(s.out, "\n100 records, ten of which always fail, and three tiers without a delay:\n\n")
	relay := s.relay(countTopic, 0, 0, 0)
	return s.play(ctx, relay, "warn", func(ctx context.Context) error {
		if err := s.app.write(countTopic, 100); err != nil {
			return err
		}
		if err := s.app.await(ctx, relay.DLT.Topic, 10); err != nil {
			return err
		}
		total := 0
		for _, topic := range append(append([]string{countTopic}, relay.TierTopics()...), relay.DLT.Topic) {
			records, err := s.app.read(ctx, topic)
			if err != nil {
				return err
			}
			total += len(records)
			fmt.Fprintf(s.out, "  %-30s %4d\n", topic, len(records))
		}
		fmt.Fprintf(s.out, "\ntotal %d\n", total)
		if total != 140 {
			return fmt.Errorf("%d records in all topics, not 140", total)
		}
		return nil
	})
}

// stay leaves everything running until ctx ends.
func (s stage) stay(ctx context.Context) error {
	relay := s.relay(walkTopic, time.Second, 2*time.Second, 3*time.Second)
	fmt.Fprintf(s.out, `
Running until interrupted: broker %[1]s, endpoint %[2]s, admin at the address below.
The endpoint refuses every loan whose number ends in 0. Write one with Kafka's own tools:

  echo 'loan-10:{"loan":10,"days":17}' | kafka-console-producer.sh --bootstrap-server %[1]s --topic %[3]s --property parse.key=true --property key.separator=:

`, s.brokers[0], s.endpoint.url(), walkTopic)
	return s.play(ctx, relay, "debug", func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	})
}

// relay is the configuration of one relay, as a YAML file would give it.
func (s stage) relay(topic string, delays ...time.Duration) tier.Config {
	c := tier.DefaultConfig()
	c.Topic, c.Start = topic, "earliest"
	c.Endpoint.URL, c.Endpoint.ContentType = s.endpoint.url(), "application/json"
	c.Policy.Jitter = 0
	c.Policy.Tiers.List = make([]policy.Tier, len(delays))
	for i, d := range delays {
		c.Policy.Tiers.List[i].Delay = d
	}
	c.Resolve()
	return c
}

// play runs the daemon with one relay for as long as act takes.
func (s stage) play(ctx context.Context, relay tier.Config, level string, act func(context.Context) error) error {
	if err := s.app.create(relay.Topic); err != nil {
		return err
	}
	cfg := config.Default()
	cfg.Kafka.Brokers, cfg.Relays = s.brokers, []tier.Config{relay}
	cfg.Admin.Listen, cfg.Log.Level, cfg.Log.Format = "127.0.0.1:0", level, "console"
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- app.Run(running, &cfg, app.Options{Version: "demo", Log: s.out, Terminal: true})
	}()
	acted := make(chan error, 1)
	go func() { acted <- act(running) }()
	select {
	case err := <-ended: // before the act was over
		stop()
		<-acted
		return fmt.Errorf("the daemon ended: %w", err)
	case err := <-acted:
		stop()
		if ended := <-ended; err == nil {
			return ended
		}
		return err
	}
}
