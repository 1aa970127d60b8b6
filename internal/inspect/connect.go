package inspect

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/status"
)

// Level says how serious a finding is.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warn" // it runs, but not as one may think
	Fail Level = "fail" // a relay does not run, or does not deliver
)

// Finding is one thing that was looked at.
type Finding struct {
	Level Level  `json:"level"`
	Relay string `json:"relay"` // empty: of the whole configuration
	What  string `json:"what"`  // brokers, kafka, topics, access, groups, start or endpoint
	Text  string `json:"text"`  // one line: what is there, or what is wrong and how to mend it
}

// Failed reports whether a finding is a failure.
func Failed(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Fail })
}

// The bounds of Connect.
const (
	patience = 10 * time.Second // for whatever does not answer
	abreast  = 8                // relays that are looked at at a time
)

// Connect holds a configuration against the Kafka and the endpoints that it names.
// It changes nothing and posts nothing. The findings are in the order of the
// configuration. It takes 10 s at most to find the cluster, and as long again to
// look at it; an endpoint has 10 s or its timeout, whichever is shorter. version is
// retryd's.
func Connect(ctx context.Context, cfg *config.Config, version string) []Finding {
	relays := make([][]Finding, len(cfg.Relays))
	var endpoints, whole []Finding
	var all sync.WaitGroup
	all.Go(func() { whole = lookAtKafka(ctx, cfg, relays) })
	all.Go(func() { endpoints = lookAtEndpoints(ctx, cfg.Relays, version) })
	all.Wait()
	for i := range cfg.Relays {
		whole = append(append(whole, relays[i]...), endpoints[i])
	}
	return whole
}

// each calls do with the numbers below n, up to limit of them at a time.
func each(n, limit int, do func(i int)) {
	var running errgroup.Group
	running.SetLimit(limit)
	for i := range n {
		running.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = running.Wait() // none fails
}

// lookAtKafka returns what concerns all relays, and fills in what it finds of each.
// Nothing waits for addresses that do not answer but their own findings.
func lookAtKafka(ctx context.Context, cfg *config.Config, relays [][]Finding) []Finding {
	var reaching sync.WaitGroup
	var reached []error
	reaching.Go(func() { reached = reachAll(ctx, cfg.Kafka.Brokers) })
	cluster, err := findCluster(ctx, cfg.Kafka)
	reaching.Wait()
	findings := brokerFindings(cfg.Kafka.Brokers, reached, err == nil)
	if err != nil {
		return append(findings, Finding{Fail, "", "kafka", Explain(err) + "; the relays' topics and groups were not looked at"})
	}
	return append(findings, lookAtCluster(ctx, cluster, cfg, relays)...)
}

// lookAtCluster closes the cluster. What waits for an answer when the time is up
// waits no longer.
func lookAtCluster(ctx context.Context, cluster *kafka.Cluster, cfg *config.Config, relays [][]Finding) []Finding {
	looking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	inTime := context.AfterFunc(looking, cluster.HangUp)
	var reaching sync.WaitGroup
	var findings, shared []Finding
	reaching.Go(func() { findings = clusterFindings(ctx, cluster.Brokers()) })
	reaching.Go(func() { shared = lookAtShared(looking, cluster, cfg) })
	each(len(cfg.Relays), abreast, func(i int) {
		relays[i] = lookAtRelay(looking, cluster, cfg, cfg.Relays[i])
	})
	reaching.Wait()
	findings = append(findings, shared...)
	if err := cluster.Close(); err != nil && inTime() {
		findings = append(findings, Finding{Warn, "", "kafka", "close the connection: " + Explain(err)})
	}
	return findings
}

// Explain returns what an error of Kafka means for people, on one printable line.
func Explain(err error) string { return status.OneLine(kafka.Explain(err)) }
