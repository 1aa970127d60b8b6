package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// brokenLines is how many broken bounds of a run are told; the others are counted.
const brokenLines = 5

// report is everything that was run, in the order of its kinds.
type report struct {
	outages []result
	poison  []poisoned
}

// print writes the tables as Markdown, and what is wrong below them.
func (r report) print(out io.Writer) {
	if len(r.outages) > 0 {
		line(out, "outage", "dead letters", "attempts spent", "allowed", "POSTs meanwhile", "allowed",
			"resumed after, in probe intervals", "peak rate over the limit", "repeats")
		fmt.Fprintln(out, strings.Repeat("| --- ", 9)+"|")
	}
	for _, o := range r.outages {
		o.print(out)
	}
	if len(r.poison) > 0 {
		fmt.Fprintln(out)
		line(out, "poison alone", "records", "dead letters", "`exhausted`", "`limited`", "attempts", "latest after it was due")
		fmt.Fprintln(out, strings.Repeat("| --- ", 7)+"|")
	}
	for _, p := range r.poison {
		p.print(out)
	}
	for _, text := range r.broken() {
		fmt.Fprintln(out, text)
	}
}

func (p poisoned) name() string {
	if p.health {
		return "500 for ever, `health`"
	}
	return "500 for ever"
}

func (p poisoned) print(out io.Writer) {
	if p.failed {
		line(out, p.name(), "no result", "", "", "", "", "")
		return
	}
	line(out, p.name(), p.records, p.exhausted+p.limited, p.exhausted, p.limited, p.posts, (p.latest * compression).Round(time.Second/10))
}

func (r result) print(out io.Writer) {
	if r.failed {
		line(out, r.kind.name, "no result", "", "", "", "", "", "", "")
		return
	}
	posts, mayPost := any(r.posts), any(r.mayPost)
	if r.kind.mode == refused {
		posts, mayPost = "not seen", ""
	}
	line(out, r.kind.name, r.deadLetters, r.spent, r.kind.maySpend, posts, mayPost,
		fmt.Sprintf("%.2f", float64(r.resume)/float64(compressed(maxProbeInterval))), fmt.Sprintf("%.2f", r.rate), r.repeats)
}

func line(out io.Writer, cells ...any) {
	for _, cell := range cells {
		fmt.Fprintf(out, "| %v ", cell)
	}
	fmt.Fprintln(out, "|")
}

// broken returns the bounds that do not hold, each with its run.
func (r report) broken() []string {
	var all []string
	for _, o := range r.outages {
		all = append(all, some(o.kind.name, o.broken)...)
	}
	for _, p := range r.poison {
		all = append(all, some("poison, "+p.name(), p.broken)...)
	}
	return all
}

func some(name string, broken []string) []string {
	var all []string
	for _, text := range broken[:min(brokenLines, len(broken))] {
		all = append(all, name+": "+text)
	}
	if more := len(broken) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("%s: and %d more", name, more))
	}
	return all
}
