package scenarios

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// Messages of the log that more than one failure brings.
const (
	notReady     = "relay is not ready"
	notMember    = "not a member of the group: this instance delivers none of its records"
	cannotRead   = "cannot read a partition"
	cannotWrite  = "cannot write a record to its next topic: it is held and written again each second, none is lost"
	cannotCommit = "cannot commit: delivery stops until it succeeds, when the last commit is half of kafka.session_timeout old"
	gaveUp       = "gave up on records in flight, they are delivered again"
	noLastCommit = "last commit of the session is missing: what was completed since the one before is delivered again"
	lateCommit   = "commit came too late: the group has begun anew, and what was not committed is delivered again by the partition's next owner"
)

// sign is how one failure shows in each of the places where a person on call looks.
type sign struct {
	manual       string // title of its row in docs/operations.md
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
	since  time.Time
	before int // lines in the log
}

// expect checks that a daemon tells of no such failure, which is about to begin.
func (s sign) expect(t *testing.T, d *harness.Daemon) *outage {
	t.Helper()
	o := s.fromStart(t, d)
	o.before = len(logged(t, d))
	o.await(t, "no trouble", o.isSound)
	return o
}

// fromStart is expect for a failure that is there when the daemon starts.
func (s sign) fromStart(t *testing.T, d *harness.Daemon) *outage {
	t.Helper()
	s.says = cmp.Or(s.says, s.why)
	s.checkManual(t)
	return &outage{sign: s, daemon: d, since: time.Now()}
}

// checkManual compares the sign with its row in the manual, where a relay of the name
// library.loan.overdue has the trouble.
func (s sign) checkManual(t *testing.T) {
	t.Helper()
	row, code := manualRow(t, s.manual), "200"
	if s.unready {
		code = "503"
	}
	name, _ := splitSeries(s.series)
	for _, text := range []string{"`" + s.began + "`", "`" + s.ended + "`", s.says, code, "`" + name + "` " + fmt.Sprint(s.broken)} {
		if s.relay != "" {
			text = strings.ReplaceAll(text, s.relay, "library.loan.overdue")
		}
		if text != "``" && !strings.Contains(row, text) {
			t.Errorf("docs/operations.md says nothing of %q in the row %q", text, s.manual)
		}
	}
}

// awaitTold waits until every place tells of the failure.
func (o *outage) awaitTold(t *testing.T) {
	t.Helper()
	o.await(t, "every place to tell of the failure", o.isTold)
}

// awaitOver waits until no place tells of the failure any more, and the log tells of
// its end. The log has told of either once, and warned of nothing else but of
// consequences, of each once for a topic or a group.
func (o *outage) awaitOver(t *testing.T, consequences ...string) {
	t.Helper()
	o.await(t, "every place to tell of the end", func(t *testing.T) string {
		if missing := o.isSound(t); missing != "" {
			return missing
		}
		if o.ended != "" && len(o.lines(t, o.end)) == 0 {
			return fmt.Sprintf("the log has no line %q", o.ended)
		}
		return ""
	})
	o.checkNoise(t, consequences)
}

// repeated is how long the daemon keeps back the repetition of a line.
const repeated = 30 * time.Second

// checkNoise fails the test if the log warns of something unexpected. What lasts may be
// told again, so that a slow machine sees a line more than once.
func (o *outage) checkNoise(t *testing.T, consequences []string) {
	t.Helper()
	most := 1 + int(time.Since(o.since)/repeated)
	for _, such := range []func(line) bool{o.beginning, o.end} {
		if found := o.lines(t, such); len(found) > most {
			t.Errorf("%d lines tell of the beginning or of the end, want %d at most: %+v", len(found), most, found)
		}
	}
	told := map[line]int{}
	for _, l := range o.lines(t, line.alarms) {
		if l.Message != o.began && !slices.Contains(consequences, l.Message) {
			t.Errorf("the log warns of more than the failure: %+v", l)
		}
		l.Error = "" // another reason makes it no other news
		if told[l]++; told[l] > most {
			t.Errorf("warning %d of the same, want %d at most: %+v", told[l], most, l)
		}
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
	if o.began != "" && len(o.lines(t, o.beginning)) == 0 {
		return fmt.Sprintf("the log has no warning %q with %q:\n%s", o.began, o.why, o.daemon.Log())
	}
	return ""
}

func (o *outage) beginning(l line) bool {
	return l.alarms() && l.Message == o.began && strings.Contains(l.Error, o.why)
}

func (o *outage) end(l line) bool { return l.Message == o.ended }

// lines returns those about the relay, or about all, since the failure was expected.
func (o *outage) lines(t *testing.T, such func(line) bool) (found []line) {
	t.Helper()
	for _, l := range logged(t, o.daemon)[o.before:] {
		if such(l) && (o.relay == "" || o.relay == l.Relay) {
			found = append(found, l)
		}
	}
	return found
}

// line is a line of a daemon's log.
type line struct {
	Level   string
	Message string `json:"msg"`
	Relay   string
	Topic   string
	Group   string
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
