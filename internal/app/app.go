// Package app is the daemon without its command line: it builds the parts, wires
// them, runs them until its context ends, and takes them down in order. It can be
// embedded.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/admin"
	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/control"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/internal/tier"
	"github.com/retryd/retryd/internal/window"
)

// startsAtATime bounds how many relays and group members begin at a time: each asks
// the brokers a dozen questions, and joins a group that is balanced anew.
const startsAtATime = 4

// Options is what the surroundings give a daemon.
type Options struct {
	Version  string
	Log      io.Writer         // where log lines go
	Terminal bool              // a person reads Log
	Listens  func(addr string) // told the address of the admin listener; may be nil

	// Notify passes assignments of sd_notify(3) on to a service manager; nil: there is
	// none. One goroutine calls it. Its error is logged once.
	Notify   func(state string) error
	Watchdog time.Duration // the service manager's timeout; 0: it has none
}

// Run runs all relays until ctx ends, then drains: it takes no more records, lets
// attempts in flight finish, commits, and leaves the groups, within
// cfg.StopTimeout. A clean stop returns nil. An error says what could not be set
// up, or what did not end in time.
//
// A cluster that cannot be reached is no error: it is waited for. Nor is a log that
// cannot be written, or a service manager that cannot be told.
func Run(ctx context.Context, cfg *config.Config, o Options) error {
	d := &daemon{config: cfg, options: o, since: time.Now()}
	return d.live(ctx)
}

// daemon is everything that was built, or what there is of it after an error.
type daemon struct {
	config  *config.Config
	options Options
	since   time.Time // start of the process
	deps    tier.Deps
	log     *zap.Logger
	server  *admin.Server
	relays  []*tier.Relay
	trouble trouble
	monitor monitor
	control *control.Control

	cluster   *kafka.Cluster // set by connect
	connected atomic.Bool
}

// live is all that a daemon does.
func (d *daemon) live(ctx context.Context) error {
	if err := d.build(); err != nil {
		d.close()
		return err
	}
	return d.run(ctx)
}

// build makes the parts, and starts none. What it has made after an error, close
// takes down.
func (d *daemon) build() error {
	cfg, o := d.config, d.options
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	series := metrics.New(registry, o.Version)
	out := &logWriter{to: o.Log, failed: series.LogWriteError, trouble: &d.trouble}
	log, err := logging.New(cfg.Log, out, o.Terminal, series.LogLineDropped)
	if err != nil {
		return err
	}
	d.log = log
	d.deps = tier.Deps{
		Kafka: cfg.Kafka, Topics: cfg.Topics, Window: cfg.Window,
		Producers: kafka.NewProducers(cfg.Kafka),
		Budget:    window.NewBudget(int64(cfg.Window.Bytes)),
		Metrics:   series, Log: log, Version: o.Version, Redact: cfg.Redact,
		Limiter: &logging.Limiter{},
		Starts:  make(chan struct{}, startsAtATime),
		Groups:  countGroups(cfg.Relays),
	}
	d.makeControl()
	if err := d.makeRelays(); err != nil {
		return err
	}
	d.monitor = monitor{
		measure:   func(now time.Time) error { return tier.Measure(d.cluster, d.relays, now) },
		reachable: series.KafkaReachable,
		trouble:   &d.trouble, log: log,
	}
	d.server = admin.New(cfg.Admin, registry, admin.Source{Status: d.status, Stalled: d.stalled, Pause: d.pause, Resume: d.resume}, log)
	return d.server.Listen()
}

// close takes down what was built and never ran: nothing has been sent, so it waits
// for nobody. A relay holds nothing before its Run, nor a server before Listen.
func (d *daemon) close() {
	if d.deps.Producers != nil {
		d.deps.Producers.Close()
	}
}

// countGroups counts the consumer groups of the process: one for each main topic and
// each topic in which records wait.
func countGroups(relays []tier.Config) int {
	groups := 0
	for _, c := range relays {
		if c.Consume {
			groups++
		}
		groups += len(c.RetryTopics())
	}
	return groups
}

func (d *daemon) makeRelays() error {
	var errs []error
	for i, c := range d.config.Relays {
		r, err := tier.New(c, d.deps)
		if err != nil {
			errs = append(errs, fmt.Errorf("relays[%d].%w", i, err))
			continue
		}
		d.relays = append(d.relays, r)
	}
	return errors.Join(errs...)
}

// status is what the process says of itself, everywhere.
func (d *daemon) status() status.Process {
	now := time.Now()
	away := d.trouble.has(causeKafka)
	relays := make([]status.Relay, len(d.relays))
	for i, r := range d.relays {
		relays[i] = r.Status()
		switch {
		case !d.connected.Load():
			relays[i].Problems = nil // nobody has looked yet, for the reason that the process has
		case away:
			relays[i].Problems = ownProblems(relays[i].Problems)
		}
	}
	return status.Assemble(d.options.Version, d.since, now, d.trouble.list(), relays)
}

// ownProblems leaves out what the process says of Kafka itself, so that it is not said
// again of each relay.
func ownProblems(of []status.Problem) []status.Problem {
	return slices.DeleteFunc(of, func(p status.Problem) bool { return p.Away })
}

// stalled says what stands still, or "".
func (d *daemon) stalled() string { return d.stalledAt(time.Now()) }

func (d *daemon) stalledAt(now time.Time) string {
	var all []string
	if what := d.monitor.stalled(now); what != "" {
		all = append(all, what)
	}
	for _, r := range d.relays {
		if what := r.Stalled(now); what != "" {
			all = append(all, "relay "+r.Name()+": "+what)
		}
	}
	return strings.Join(all, "; ")
}
