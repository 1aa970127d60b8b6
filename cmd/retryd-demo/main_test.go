package main

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// output is written by the demo and by the daemon that it runs.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func TestDemoShowsFiveHopsAndCountsTheRecords(t *testing.T) {
	var out output
	if code := run(nil, &out, &out); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out.b.String())
	}
	text := out.b.String()
	for verb, want := range map[string]int{"attempt ": 4, "forward ": 3, "hold ": 3, "dead-letter ": 1} {
		lines := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{3} `+verb).FindAllString(text, -1)
		if len(lines) != want {
			t.Errorf("%d lines of %q in the trace, want %d", len(lines), verb, want)
		}
	}
	for _, want := range []string{"x-attempt              = 4", "x-reason               = exhausted", "\ntotal 140\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	if counts := regexp.MustCompile(`(?m)^  library\.loan\.reminder\S* +(\d+)$`).FindAllStringSubmatch(text, -1); len(counts) == 5 {
		for i, want := range []string{"100", "10", "10", "10", "10"} {
			if counts[i][1] != want {
				t.Errorf("topic %d holds %s records, want %s", i, counts[i][1], want)
			}
		}
	} else {
		t.Errorf("%d topics are counted, want 5", len(counts))
	}
	if regexp.MustCompile(`(?m)^  x-[^\n]*\n\n  x-`).MatchString(text) {
		t.Error("a blank line interrupts the headers of the dead letter")
	}
	if t.Failed() {
		t.Log(text)
	}
}
