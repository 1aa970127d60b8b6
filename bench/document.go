package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"
)

//go:embed performance.md.tmpl
var documentText string

// errPeersAlone is no document because of what it would leave out.
var errPeersAlone = errors.New("no document: make bench has left no results beside those with peers")

// writeDocument makes docs/performance.md of the results that are kept.
func writeDocument(results, document string) error {
	all, err := readResults(results)
	if err != nil {
		return err
	}
	if own, peers := split(all); len(own) == 0 && len(peers) > 0 {
		return errPeersAlone
	}
	text, err := render(all)
	if err != nil {
		return err
	}
	return os.WriteFile(document, text, 0o644)
}

// render fills the template in with results, of which there is at least one.
func render(results []Result) ([]byte, error) {
	if len(results) == 0 {
		return nil, fmt.Errorf("there are no results to write about")
	}
	t, err := template.New("performance.md").Funcs(template.FuncMap{
		"row":     markdownRow,
		"columns": func() string { return markdownLine(columns()) },
		"rule":    func() string { return strings.Repeat("| --- ", len(columns())) + "|" },
		"date":    func(t time.Time) string { return t.Format(time.DateOnly) },
	}).Parse(documentText)
	if err != nil {
		return nil, err
	}
	seconds := 0
	for _, r := range results {
		seconds += r.Seconds
	}
	own, peers := split(results)
	var text bytes.Buffer
	err = t.Execute(&text, map[string]any{
		"Results": own, "Peers": peers, "First": results[0], "Minutes": (seconds + 59) / 60,
		"InFlight": inFlight, "SessionTimeout": sessionTimeout,
		"JVM": jvm,
	})
	return text.Bytes(), err
}

// split parts those with peers from the others.
func split(results []Result) (own, peers []Result) {
	for _, r := range results {
		if strings.HasPrefix(r.Scenario, peerPrefix) {
			peers = append(peers, r)
		} else {
			own = append(own, r)
		}
	}
	return own, peers
}

func markdownRow(r Row) string { return markdownLine(r.cells()) }

func markdownLine(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }
