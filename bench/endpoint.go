package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/retryd/retryd/bench/load"
	"github.com/retryd/retryd/test/harness"
)

const (
	controlBound = 30 * time.Second
	listenBound  = 10 * time.Second
)

// endpoint is the endpoint's process.
type endpoint struct {
	proc             *harness.Process
	records, control string // host:port
}

// startEndpoint starts the endpoint, and returns once it takes plans.
func startEndpoint(dir string) (*endpoint, error) {
	binary, err := harness.Build("bench/endpoint")
	if err != nil {
		return nil, err
	}
	addrs, err := harness.FreeAddrs(2)
	if err != nil {
		return nil, err
	}
	e := &endpoint{records: addrs[0], control: addrs[1]}
	command := exec.Command(binary, "-records", e.records, "-control", e.control)
	if e.proc, err = harness.StartProcess(command, filepath.Join(dir, "endpoint.log")); err != nil {
		return nil, err
	}
	for end := time.Now().Add(listenBound); ; time.Sleep(10 * time.Millisecond) {
		if _, err = e.report(); err == nil {
			return e, nil
		}
		if time.Now().After(end) {
			return nil, errors.Join(fmt.Errorf("the endpoint does not answer: %w", err), e.proc.Kill())
		}
	}
}

func (e *endpoint) url(path string) string { return "http://" + e.records + path }

// begin begins a run.
func (e *endpoint) begin(p load.Plan) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = e.ask(context.Background(), http.MethodPost, "/run", bytes.NewReader(body))
	return err
}

// measures names the process whose processor time counts.
func (e *endpoint) measures(pid int) error {
	_, err := e.ask(context.Background(), http.MethodPost, fmt.Sprintf("/client?pid=%d", pid), nil)
	return err
}

// await returns once the expected number of requests has arrived.
func (e *endpoint) await(ctx context.Context) error {
	_, err := e.ask(ctx, http.MethodGet, "/reached", nil)
	return err
}

func (e *endpoint) report() (r load.Report, err error) {
	body, err := e.ask(context.Background(), http.MethodGet, "/report", nil)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("read the endpoint's report: %w", err)
	}
	if r.Problem != "" {
		return r, errors.New(r.Problem)
	}
	return r, nil
}

// ask waits for as long as ctx says, or for controlBound where that is no time at all.
func (e *endpoint) ask(ctx context.Context, method, path string, body io.Reader) ([]byte, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, controlBound)
		defer cancel()
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+e.control+path, body)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the endpoint answers %s: %s", response.Status, content)
	}
	return content, err
}
