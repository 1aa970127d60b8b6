package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/status"
)

const (
	// reconnectPause is how long to wait before a cluster that did not answer is tried
	// again.
	reconnectPause = 2 * time.Second
	// notifyBound is how long the last message to a service manager is waited for.
	notifyBound = time.Second
)

func (d *daemon) run(ctx context.Context) (err error) {
	// Before anybody can ask: a process that is not ready says why.
	d.trouble.set(causeKafka, status.Problem{
		Text:  "waiting for Kafka at " + strings.Join(d.config.Kafka.Brokers, ", "),
		Since: time.Now(), Blocking: true,
	})
	d.log.Info("retryd starts", zap.String("version", d.deps.Version), zap.Int("relays", len(d.relays)))
	ctx, stop := context.WithCancel(ctx)
	stopServer := d.serve(stop)
	stopSupervisor := d.supervise(ctx)
	defer func() {
		stop() // what ends by itself is a stop, too
		err = errors.Join(err, stopServer())
		stopSupervisor()
	}()
	if !d.connect(ctx) {
		d.close()
		return nil
	}
	restMonitor, stopMonitor := d.watch()
	defer func() { err = errors.Join(err, stopMonitor()) }()

	abort, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	done := make(chan struct{})
	go func() { // waited for below, at most for the stop timeout
		defer close(done)
		d.relay(ctx, abort, restMonitor)
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
	if d.options.Listens != nil {
		d.options.Listens(d.server.Addr())
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

// supervise starts the supervisor, which knows from ctx when the stop begins, and
// runs until the returned function is called. A service manager that takes no
// messages is not waited for.
func (d *daemon) supervise(ctx context.Context) (stop func()) {
	s := &supervisor{
		notify: d.options.Notify, watchdog: d.options.Watchdog, stopTimeout: d.config.StopTimeout,
		process: d.status, stalled: d.stalled, log: d.log,
	}
	ended, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.run(ctx, ended)
	}()
	return func() {
		end()
		select {
		case <-done:
		case <-time.After(notifyBound):
		}
	}
}

// connect waits for the cluster; it returns false if ctx ends first.
func (d *daemon) connect(ctx context.Context) bool {
	for said := ""; ; {
		cluster, err := kafka.Connect(ctx, d.config.Kafka)
		if err == nil {
			d.isConnected(cluster, said != "")
			return true
		}
		if why := kafka.Explain(err); why != said && ctx.Err() == nil {
			d.waits(why)
			said = why
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(reconnectPause):
		}
	}
}

func (d *daemon) isConnected(cluster *kafka.Cluster, waited bool) {
	d.cluster = cluster
	d.connected.Store(true)
	since, _ := d.trouble.clear(causeKafka)
	d.deps.Metrics.KafkaReachable(true)
	if waited {
		d.log.Info("Kafka answers", zap.Duration("after", time.Since(since)))
	}
}

// waits logs why there is no cluster. The reasons of several brokers can take turns,
// so that a new one is not always news.
func (d *daemon) waits(why string) {
	if n, ok := d.deps.Limiter.Allow("waiting for Kafka", "", time.Now()); ok {
		d.log.Warn("waiting for Kafka", zap.String(logging.FieldError, why), logging.Suppressed(n))
	}
}

// watch starts the monitor. rest ends it, so that a look in progress tells nothing any
// more; stop also closes the cluster, which ends such a look.
func (d *daemon) watch() (rest func(), stop func() error) {
	ctx, rest := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.monitor.run(ctx)
	}()
	return rest, func() error {
		rest()
		err := d.cluster.Close()
		<-done
		return err
	}
}

// relay runs all relays until ctx ends. An attempt that finishes after that may still stop
// its relay, which is written before the producers are closed. What is left of the relays
// when nothing is in flight any more only looks at topics, and is not waited for: it may
// wait for brokers that hang.
func (d *daemon) relay(ctx, abort context.Context, restMonitor func()) {
	var running, writing sync.WaitGroup
	drained, end := context.WithCancel(abort)
	defer end()
	for _, r := range d.relays {
		r.AwaitControl(d.config.Topics.Control) // from now on: before, Kafka was waited for
		running.Go(func() { r.Run(ctx, abort, d.cluster) })
	}
	running.Go(func() { d.control.Follow(ctx, d.cluster) })
	writing.Go(func() { d.control.Write(drained, abort) })
	for _, r := range d.relays {
		<-r.Drained()
	}
	end()
	writing.Wait()
	restMonitor() // what is broken off now is no trouble of Kafka's
	d.cluster.HangUp()
	d.deps.Producers.Close()
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
	return fmt.Errorf("stop took longer than stop_timeout (%s): what is not committed by now is delivered again", d.config.StopTimeout)
}
