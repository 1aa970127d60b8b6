package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/retryd/retryd/internal/app"
	"github.com/retryd/retryd/internal/config"
)

// startDaemon runs a configuration until the end of the test, and returns where it listens.
func startDaemon(t *testing.T, path string) (addr string) {
	t.Helper()
	cfg, err := config.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	listens, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, cfg, app.Options{Version: "1.2.3", Log: t.Output(), Listens: func(addr string) { listens <- addr }})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case addr = <-listens:
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	}
	return addr
}

// TestStatusOfADaemonThatLacksATopic shows what a person sees while one relay works and
// another cannot.
func TestStatusOfADaemonThatLacksATopic(t *testing.T) {
	b := startBroker(t)
	b.create(t, "loans", 2)
	addr := startDaemon(t, writeFile(t, fmt.Sprintf(`
kafka: {brokers: ["%s"]}
admin: {listen: "127.0.0.1:0"}
relays:
  - {topic: loans, start: earliest, endpoint: {url: "http://127.0.0.1:8080/loans"}, tiers: [5s, 30s]}
  - {topic: orders, endpoint: {url: "http://127.0.0.1:8080/orders"}, tiers: [5s]}
`, b.addr)))
	measured := regexp.MustCompile(`(?m)^  \w+ +loans\S* +0-1 +\d+ +\d+ `) // a tier of loans
	var out output
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		out = execute(t, nil, nil, "status", "--address", addr)
		if strings.Contains(out.Stdout, "relay loans: ready") && len(measured.FindAllString(out.Stdout, -1)) == 3 &&
			strings.Contains(out.Stdout, "0 records in loans.DLT") && strings.Contains(out.Stdout, "main topic orders") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the daemon does not get there: %+v", out)
		}
	}
	stdout := regexp.MustCompile(`up \S+ \(since [^)]*\)`).ReplaceAllString(out.Stdout, "up 5s (since 2026-01-31 08:00:00 UTC)")
	golden(t, "status/lacks-a-topic.txt", regexp.MustCompile(`problem for \S+:`).ReplaceAllString(stdout, "problem for 3s:"))
}
