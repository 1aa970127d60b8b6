package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// jvm are the flags of the peers' machines. The parallel collector was quicker than G1
// for both, or as quick.
const jvm = "-Xmx512m -XX:+UseParallelGC -Dorg.slf4j.simpleLogger.defaultLogLevel=warn"

const (
	parallelConsumer = "Parallel Consumer"
	springTuned      = "Spring Kafka, tuned"
	springDefaults   = "Spring Kafka, defaults"

	defaultPoll  = 5 * time.Second      // Spring Kafka's
	punctualPoll = 5 * time.Millisecond // what is punctual, where records wait
)

// peers builds them, and returns how one is started.
func (b *bench) peers() (*peers, error) {
	java, modules, err := harness.BuildJava("bench/peers")
	return &peers{b, java, modules}, err
}

type peers struct {
	*bench
	java, modules string
}

// start starts a module's class of its own name; properties are name=value.
func (p *peers) start(module, run, topic string, properties ...string) (*harness.Process, error) {
	dir := filepath.Join(p.modules, module)
	args := strings.Fields(jvm)
	for _, property := range append(properties, "brokers="+strings.Join(p.cluster.Addrs(), ","),
		"topic="+topic, "group="+run, "url="+p.endpoint.url("/")) {
		args = append(args, "-D"+property)
	}
	args = append(args, "-cp", filepath.Join(dir, "*")+":"+filepath.Join(dir, "jars", "*"),
		"com.github.retryd.bench."+strings.ToUpper(module[:1])+module[1:])
	return harness.StartProcess(exec.Command(p.java, args...), filepath.Join(p.dir, run+".log"))
}

// parallel is Confluent Parallel Consumer on a topic that is there.
func (p *peers) parallel(topic string, inFlight int) side {
	return side{name: parallelConsumer, peer: true, start: func(run string) (*harness.Process, error) {
		return p.start("parallel", run, topic, fmt.Sprintf("concurrency=%d", inFlight))
	}}
}

// spring is how Spring Kafka with its retry topics is set.
type spring struct {
	tuned       bool
	async       bool // the listener returns before the record is handled
	partitions  int
	connections int // requests at a time
	retries     int
	delay       time.Duration // of each retry
	poll        time.Duration // bound of a poll, where it is tuned
}

func (s spring) name() string {
	if s.tuned {
		return springTuned
	}
	return springDefaults
}

// startSpring starts Spring Kafka on a topic that is there.
func (p *peers) startSpring(run, topic string, s spring) (*harness.Process, error) {
	return p.start("spring", run, topic,
		fmt.Sprintf("tuned=%t", s.tuned), fmt.Sprintf("async=%t", s.async),
		fmt.Sprintf("partitions=%d", s.partitions), fmt.Sprintf("connections=%d", s.connections),
		fmt.Sprintf("retries=%d", s.retries), fmt.Sprintf("delay=%d", s.delay.Milliseconds()),
		fmt.Sprintf("poll=%d", s.poll.Milliseconds()))
}

// spring is Spring Kafka on a topic that is there.
func (p *peers) spring(topic string, s spring) side {
	return side{name: s.name(), peer: true, start: func(run string) (*harness.Process, error) {
		return p.startSpring(run, topic, s)
	}}
}
