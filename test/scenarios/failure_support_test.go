package scenarios

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/retryd/retryd/test/harness"
)

// sign is how one failure shows in each of the places where a person on call looks.
type sign struct {
	began, ended string // messages of the log at its beginning and at its end; empty: it has none
	why          string // part of the error that the first message carries
	says         string // part of the line in /readyz and of a problem in status; empty: why
	relay        string // that is affected; empty: the process
	unready      bool   // whether /readyz answers 503 meanwhile

	series        string // of a metric
	broken, sound float64
}

// outage is one failure of a running daemon, from before it begins.
type outage struct {
	sign
	daemon *harness.Daemon
	before int // lines in the log
}

// expect checks that a daemon tells of no such failure, which is about to begin.
func (s sign) expect(t *testing.T, d *harness.Daemon) *outage {
	t.Helper()
	s.checkManual(t)
	s.says = cmp.Or(s.says, s.why)
	o := &outage{sign: s, daemon: d, before: len(logged(t, d))}
	o.await(t, "no trouble", o.isSound)
	return o
}

// checkManual looks for the messages where people look them up.
func (s sign) checkManual(t *testing.T) {
	t.Helper()
	manual, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{s.began, s.ended} {
		if !strings.Contains(string(manual), message) {
			t.Errorf("docs/operations.md has no message %q", message)
		}
	}
}

// awaitTold waits until every place tells of the failure.
func (o *outage) awaitTold(t *testing.T) {
	t.Helper()
	o.await(t, "every place to tell of the failure", o.isTold)
}

// awaitOver waits until no place tells of the failure any more, and the log tells of
// its end; from beginning to end it has most warnings and errors of the relay.
func (o *outage) awaitOver(t *testing.T, most int) {
	t.Helper()
	o.await(t, "every place to tell of the end", func(t *testing.T) string {
		if missing := o.isSound(t); missing != "" {
			return missing
		}
		if o.ended != "" && o.count(t, o.end) == 0 {
			return fmt.Sprintf("the log has no line %q", o.ended)
		}
		return ""
	})
	if began := o.count(t, o.beginning); began > 1 {
		t.Errorf("%d lines tell of the beginning, want one", began)
	}
	if ended := o.count(t, o.end); ended > 1 {
		t.Errorf("%d lines tell of the end, want one", ended)
	}
	if noise := o.count(t, line.alarms); noise > most {
		t.Errorf("%d warnings and errors, want %d at most:\n%s", noise, most, o.daemon.Log())
	}
}

// await waits until look finds nothing missing, and tells what is if it does not.
func (o *outage) await(t *testing.T, what string, look func(t *testing.T) (missing string)) {
	t.Helper()
	missing := ""
	defer func() {
		if t.Failed() && missing != "" {
			t.Log(missing)
		}
	}()
	harness.WaitFor(t, recheckBound, what, func() bool {
		missing = look(t)
		return missing == ""
	})
}

// isSound looks at all places but the log, which keeps what was.
func (o *outage) isSound(t *testing.T) (missing string) {
	if code, body := readyz(t, o.daemon); code != http.StatusOK || body != "ok\n" {
		return fmt.Sprintf("/readyz answers %d:\n%s", code, body)
	}
	if got := metric(t, o.daemon, o.series); got != o.sound {
		return fmt.Sprintf("%s is %v, want %v", o.series, got, o.sound)
	}
	now, text := stateOf(t, o.daemon)
	if len(now.lines()) > 0 || !now.Ready || strings.Contains(text, "not ready") || strings.Contains(text, "problem") {
		return "retryd status says:\n" + text
	}
	return ""
}

func (o *outage) isTold(t *testing.T) (missing string) {
	want := http.StatusOK
	if o.unready {
		want = http.StatusServiceUnavailable
	}
	code, body := readyz(t, o.daemon)
	if code != want || !strings.Contains(body, o.says) {
		return fmt.Sprintf("/readyz answers %d, want %d and %q:\n%s", code, want, o.says, body)
	}
	if got := metric(t, o.daemon, o.series); got != o.broken {
		return fmt.Sprintf("%s is %v, want %v", o.series, got, o.broken)
	}
	now, text := stateOf(t, o.daemon)
	told := slices.ContainsFunc(now.lines(), func(line string) bool { return strings.Contains(line, o.says) })
	if !told || now.Ready == o.unready || !strings.Contains(text, o.says) {
		return fmt.Sprintf("retryd status does not say %q:\n%s", o.says, text)
	}
	if o.began != "" && o.count(t, o.beginning) == 0 {
		return fmt.Sprintf("the log has no warning %q with %q:\n%s", o.began, o.why, o.daemon.Log())
	}
	return ""
}

func (o *outage) beginning(l line) bool {
	return l.alarms() && l.Message == o.began && strings.Contains(l.Error, o.why)
}

func (o *outage) end(l line) bool { return l.Message == o.ended }

// count counts the lines about the relay, or about all, since the failure was expected.
func (o *outage) count(t *testing.T, such func(line) bool) int {
	t.Helper()
	n := 0
	for _, l := range logged(t, o.daemon)[o.before:] {
		if such(l) && (o.relay == "" || o.relay == l.Relay) {
			n++
		}
	}
	return n
}

// line is a line of a daemon's log.
type line struct {
	Level   string
	Message string `json:"msg"`
	Relay   string
	Error   string
}

// alarms reports whether a line wants a person's attention.
func (l line) alarms() bool { return l.Level == "warn" || l.Level == "error" }

// logged returns the lines of a daemon's log that are complete.
func logged(t *testing.T, d *harness.Daemon) (all []line) {
	t.Helper()
	text := d.Log()
	for each := range strings.Lines(text[:strings.LastIndexByte(text, '\n')+1]) {
		var l line
		if err := json.Unmarshal([]byte(each), &l); err != nil {
			t.Fatalf("a line of the log is no JSON: %s", each)
		}
		all = append(all, l)
	}
	return all
}

// state is what "retryd status --output json" prints, as far as failures show in it.
type state struct {
	Ready    bool
	Problems []problem
	Relays   []struct {
		Name     string
		Problems []problem
		Tiers    []struct{ Partitions []int32 }
	}
}

type problem struct{ Text string }

// lines spells the problems as /readyz does.
func (s state) lines() (all []string) {
	for _, p := range s.Problems {
		all = append(all, p.Text)
	}
	for _, r := range s.Relays {
		for _, p := range r.Problems {
			all = append(all, "relay "+r.Name+": "+p.Text)
		}
	}
	return all
}

// stateOf asks a daemon for its state, as a person does and as a program does. The
// text has one space where it has several, or a line ends.
func stateOf(t *testing.T, d *harness.Daemon) (s state, text string) {
	t.Helper()
	ask := func(args ...string) []byte {
		args = append([]string{"status", "--address", d.Addr()}, args...)
		output, err := exec.CommandContext(t.Context(), suite.Binary(t), args...).Output()
		if err != nil {
			t.Fatalf("retryd %s: %v", strings.Join(args, " "), err)
		}
		return output
	}
	if err := json.Unmarshal(ask("--output", "json"), &s); err != nil {
		t.Fatalf("retryd status --output json: %v", err)
	}
	return s, strings.Join(strings.Fields(string(ask())), " ")
}
