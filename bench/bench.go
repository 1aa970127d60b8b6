package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// stopGrace is how long a process may take to stop before it is killed.
const stopGrace = 20 * time.Second

// bench is what one scenario runs on: a Kafka, an endpoint, and the programs.
type bench struct {
	options
	ctx           context.Context
	out           io.Writer // progress
	dir           string    // configurations and logs
	daemon, floor string    // paths of the programs
	cluster       *harness.Cluster
	endpoint      *endpoint
	runs          int // begun so far
}

// setUp starts Kafka and the endpoint. What it started before an error it stops.
func setUp(ctx context.Context, o options, out io.Writer) (b *bench, err error) {
	b = &bench{options: o, ctx: ctx, out: out}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.tearDown())
		}
	}()
	if b.dir, err = os.MkdirTemp("", "retryd-bench-"); err != nil {
		return b, err
	}
	program := "cmd/retryd"
	if o.profiles != "" {
		program = "bench/profile"
	}
	if b.daemon, err = harness.Build(program); err != nil {
		return b, err
	}
	if b.floor, err = harness.Build("bench/floor"); err != nil {
		return b, err
	}
	if b.endpoint, err = startEndpoint(b.dir); err != nil {
		return b, err
	}
	b.cluster, err = harness.NewCluster(1)
	return b, err
}

// tearDown stops what runs, and deletes what it kept.
func (b *bench) tearDown() error {
	errs := []error{b.keepProfiles()}
	if b.endpoint != nil {
		errs = append(errs, b.endpoint.proc.Kill())
	}
	if b.cluster != nil {
		errs = append(errs, b.cluster.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

// keepProfiles moves the profiles out of what is deleted: <run>.prof.
func (b *bench) keepProfiles() error {
	made, err := filepath.Glob(filepath.Join(b.dir, "*", "cpu.prof"))
	if err != nil || len(made) == 0 {
		return err
	}
	errs := []error{os.MkdirAll(b.profiles, 0o755)}
	for _, file := range made {
		content, err := os.ReadFile(file)
		name := filepath.Base(filepath.Dir(file)) + ".prof"
		errs = append(errs, err, os.WriteFile(filepath.Join(b.profiles, name), content, 0o644))
	}
	return errors.Join(errs...)
}

// nextRun returns a name that no other run has: of its relay, its group and what it
// writes to.
func (b *bench) nextRun() string {
	b.runs++
	return fmt.Sprintf("run%03d", b.runs)
}

// startDaemon starts the daemon with these relays, in the flow style of YAML.
func (b *bench) startDaemon(run string, relays ...string) (*harness.Daemon, error) {
	dir := filepath.Join(b.dir, run)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	config := fmt.Sprintf("kafka: {brokers: [%s], session_timeout: %v}\nrelays:\n- %s\n",
		strings.Join(b.cluster.Addrs(), ", "), sessionTimeout, strings.Join(relays, "\n- "))
	return harness.NewDaemon(b.daemon, config, dir)
}

// sessionTimeout is that of the daemons: short, so that after a kill its group goes on.
const sessionTimeout = 6 * time.Second

// startFloor starts a floor that reads topics, or none.
func (b *bench) startFloor(run, kind string, concurrency int, topics []string, more ...string) (*harness.Process, error) {
	args := append([]string{
		kind, "-brokers", strings.Join(b.cluster.Addrs(), ","), "-topics", strings.Join(topics, ","),
		"-group", "floor-" + run, "-url", b.endpoint.url("/"), "-concurrency", strconv.Itoa(concurrency),
	}, more...)
	return harness.StartProcess(exec.Command(b.floor, args...), filepath.Join(b.dir, run+".log"))
}

// relay is a relay's YAML: its topic, the run that names it, and further keys.
func (b *bench) relay(topic, run string, inFlight int, keys ...string) string {
	return b.relayTo("/", topic, run, inFlight, keys...)
}

// relayTo is relay with a path of the endpoint.
func (b *bench) relayTo(path, topic, run string, inFlight int, keys ...string) string {
	all := append([]string{
		"topic: " + topic, "name: " + run,
		fmt.Sprintf("endpoint: {url: %q, max_in_flight: %d, breaker: {enabled: false}}", b.endpoint.url(path), inFlight),
	}, keys...)
	return "{" + strings.Join(all, ", ") + "}"
}

// progress prints one line about a run.
func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(b.out, "  "+format+"\n", args...)
}
