package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/retryd/retryd/internal/app"
	"github.com/retryd/retryd/internal/config"
)

const (
	topic      = "library.loan.overdue"
	readyBound = time.Minute
	logLines   = 20 // of the daemon's log that are kept
)

// yaml is the configuration file of a run.
const yaml = `
kafka: {brokers: [{{.Broker}}]}
admin: {listen: "127.0.0.1:0"}
log: {level: warn, format: json}
relays:
- topic: ` + topic + `
  start: earliest
  tiers: [{{.Tiers}}]
  jitter: 0
  endpoint:
    url: {{.URL}}
{{- with .Health}}
    health: {{.}}
{{- end}}
    timeout: {{.Timeout}}
    max_in_flight: {{.MaxInFlight}}
    limited_attempts: {{.LimitedAttempts}}
    rate: {per_second: {{.PerSecond}}, burst: {{.Burst}}}
    breaker:
      enabled: {{.Guarded}}
      window: {{.Window}}
      min_calls: {{.MinCalls}}
      failure_share: {{.FailureShare}}
      probe_interval: {{.ProbeInterval}}
      max_probe_interval: {{.MaxProbeInterval}}
      ramp: {{.Ramp}}
`

// configuration returns the file of a run of this kind.
func (k kind) configuration(broker string, e *endpoint) (string, error) {
	tiers := make([]string, len(k.tiers))
	for i, delay := range k.delays() {
		tiers[i] = delay.String()
	}
	health := ""
	if k.health {
		health = e.url(healthPath)
	}
	var file strings.Builder
	err := template.Must(template.New("").Parse(yaml)).Execute(&file, map[string]any{
		"Broker": broker, "URL": e.url(recordsPath), "Health": health, "Tiers": strings.Join(tiers, ", "),
		"Timeout": compressed(timeout), "MaxInFlight": maxInFlight, "LimitedAttempts": limitedAttempts,
		"PerSecond": perSecond, "Burst": burst, "Guarded": !k.unguarded,
		"Window": compressed(window), "MinCalls": minCalls, "FailureShare": failureShare,
		"ProbeInterval": compressed(probeInterval), "MaxProbeInterval": compressed(maxProbeInterval), "Ramp": compressed(ramp),
	})
	return file.String(), err
}

// load reads a configuration as the daemon does, from a file.
func load(text string) (*config.Config, error) {
	dir, err := os.MkdirTemp("", "outage")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "retryd.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return config.Load(file, nil)
}

// daemon is retryd in this process.
type daemon struct {
	addr  chan string // of its admin listener
	stop  context.CancelFunc
	ended chan error
	log   tail
}

// startDaemon returns once the daemon is ready: it has made the topics and joined its
// groups.
func startDaemon(ctx context.Context, text string) (*daemon, error) {
	cfg, err := load(text)
	if err != nil {
		return nil, err
	}
	d := &daemon{addr: make(chan string, 1), ended: make(chan error, 1)}
	ctx, d.stop = context.WithCancel(ctx)
	go func() {
		d.ended <- app.Run(ctx, cfg, app.Options{Version: "outage", Log: &d.log, Listens: func(addr string) { d.addr <- addr }})
	}()
	if err := d.ready(ctx); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *daemon) ready(ctx context.Context) error {
	var addr string
	select {
	case addr = <-d.addr:
	case err := <-d.ended:
		d.ended <- nil // for close
		return fmt.Errorf("the daemon did not start: %w", err)
	}
	return await(ctx, readyBound, "the daemon to be ready", func() (bool, error) {
		response, err := http.Get("http://" + addr + "/readyz")
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
}

// close stops the daemon, which bounds that itself.
func (d *daemon) close() error {
	d.stop()
	return <-d.ended
}

// tail keeps the last lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

// Write takes one line or more.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range bytes.Lines(p) {
		t.lines = append(t.lines, string(bytes.TrimSpace(line)))
	}
	t.lines = t.lines[max(0, len(t.lines)-logLines):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// await looks until something holds, fails, or the bound or ctx is over.
func await(ctx context.Context, bound time.Duration, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("still waiting for %s after %s", what, bound)
		case <-time.After(2 * tick):
		}
	}
}
