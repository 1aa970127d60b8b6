// Package app is the daemon without its command line: it builds the parts, wires
// them, runs them until its context ends, and takes them down in order. It can be
// embedded.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/admin"
	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/tier"
	"github.com/retryd/retryd/internal/window"
)

// reconnectPause is how long to wait before a cluster that did not answer is tried
// again.
const reconnectPause = 2 * time.Second

// Options is what the surroundings give a daemon.
type Options struct {
	Version  string
	Log      io.Writer         // where log lines go
	Terminal bool              // a person reads Log
	Listens  func(addr string) // told the address of the admin listener; may be nil
}

// Run runs all relays until ctx ends, then drains: it takes no more records, lets
// attempts in flight finish, commits, and leaves the groups, within
// cfg.StopTimeout. A clean stop returns nil. An error says what could not be set
// up, or what did not end in time.
//
// A cluster that cannot be reached is no error: it is waited for.
func Run(ctx context.Context, cfg *config.Config, o Options) error {
	d, err := build(cfg, o)
	if err != nil {
		return err
	}
	return d.run(ctx)
}

// daemon is everything that was built.
type daemon struct {
	config  *config.Config
	deps    tier.Deps
	log     *zap.Logger
	server  *admin.Server
	listens func(string)
	relays  []*tier.Relay

	cluster   *kafka.Cluster // set by connect
	connected atomic.Bool
}

func build(cfg *config.Config, o Options) (*daemon, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	series := metrics.New(registry, o.Version)
	log, err := logging.New(cfg.Log, o.Log, o.Terminal, series.LogLineDropped)
	if err != nil {
		return nil, err
	}
	d := &daemon{config: cfg, log: log, listens: o.Listens, deps: tier.Deps{
		Kafka: cfg.Kafka, Topics: cfg.Topics, Window: cfg.Window,
		Producers: kafka.NewProducers(cfg.Kafka),
		Budget:    window.NewBudget(int64(cfg.Window.Bytes)),
		Metrics:   series, Log: log, Version: o.Version,
	}}
	var errs []error
	for i, c := range cfg.Relays {
		r, err := tier.New(c, d.deps)
		if err != nil {
			errs = append(errs, fmt.Errorf("relays[%d].%w", i, err))
			continue
		}
		d.relays = append(d.relays, r)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	d.server = admin.New(cfg.Admin, registry, d.ready, log)
	if err := d.server.Listen(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *daemon) run(ctx context.Context) (err error) {
	d.log.Info("retryd starts", zap.String("version", d.deps.Version), zap.Int("relays", len(d.relays)))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stopServer := d.serve(stop)
	defer func() { err = errors.Join(err, stopServer()) }()
	if !d.connect(ctx) {
		return nil
	}
	defer func() { err = errors.Join(err, d.cluster.Close()) }()

	abort, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	done := make(chan struct{})
	go func() { // waited for below, at most for the stop timeout
		defer close(done)
		d.relay(ctx, abort)
		d.deps.Producers.Close()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return d.drain(done, giveUp)
	}
	return nil
}

// serve starts the admin listener, which answers from now on until the returned
// function is called. If it breaks before, broken is called: a daemon that nobody
// can look at ends, cleanly and with an error.
func (d *daemon) serve(broken func()) (stop func() error) {
	if d.listens != nil {
		d.listens(d.server.Addr())
	}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() {
		err := d.server.Run(ctx)
		if err != nil {
			broken()
		}
		result <- err
	}()
	return func() error {
		cancel()
		return <-result
	}
}

// connect waits for the cluster; it returns false if ctx ends first.
func (d *daemon) connect(ctx context.Context) bool {
	var limiter logging.Limiter
	for waited := false; ; waited = true {
		cluster, err := kafka.Connect(ctx, d.config.Kafka)
		if err == nil {
			if waited {
				d.log.Info("Kafka answers")
			}
			d.cluster = cluster
			d.connected.Store(true)
			return true
		}
		if n, ok := limiter.Allow("cluster", "", time.Now()); ok {
			d.log.Warn("waiting for Kafka", zap.String(logging.FieldError, kafka.Explain(err)), logging.Suppressed(n))
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(reconnectPause):
		}
	}
}

// relay runs all relays until ctx ends.
func (d *daemon) relay(ctx, abort context.Context) {
	var running sync.WaitGroup
	for _, r := range d.relays {
		running.Go(func() { r.Run(ctx, abort, d.cluster) })
	}
	running.Wait()
}

// drain waits for the relays to end. Past the stop timeout what is in flight is
// given up: it is not complete, so it is delivered again by the next owner.
func (d *daemon) drain(done <-chan struct{}, giveUp func()) error {
	d.log.Info("retryd stops: it takes no more records and lets attempts in flight finish", zap.Duration("within", d.config.StopTimeout))
	patience := time.NewTimer(d.config.StopTimeout)
	defer patience.Stop()
	select {
	case <-done:
		d.log.Info("retryd stopped")
		return nil
	case <-patience.C:
	}
	giveUp()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
	return fmt.Errorf("stop took longer than stop_timeout (%s): what was in flight is delivered again", d.config.StopTimeout)
}

// ready reports whether every relay without a fault of its own has joined its
// groups, and lists what is missing. A fault (a topic, a start) makes its own relay
// unready, not the others; if no relay is left, nothing is ready.
func (d *daemon) ready() (bool, []admin.Problem) {
	if !d.connected.Load() {
		return false, []admin.Problem{{Text: fmt.Sprintf("waiting for Kafka at %s", strings.Join(d.config.Kafka.Brokers, ", "))}}
	}
	var problems []admin.Problem
	ready, sound := true, 0
	for _, r := range d.relays {
		text, fault := r.Problem()
		if text != "" {
			problems = append(problems, admin.Problem{Relay: r.Name(), Text: text})
		}
		if !fault {
			sound++
			ready = ready && text == ""
		}
	}
	return ready && sound > 0, problems
}
