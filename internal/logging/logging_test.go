package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

func TestDefaultConfigIsValid(t *testing.T) {
	if errs := DefaultConfig().Validate(); errs != nil {
		t.Error(errs)
	}
	if diff := cmp.Diff(Config{Level: "info", Format: "auto"}, DefaultConfig()); diff != "" {
		t.Error(diff)
	}
}

func TestValidateNamesEveryBadKey(t *testing.T) {
	var got []string
	for _, err := range (Config{Level: "verbose", Format: "xml"}).Validate() {
		got = append(got, err.Error())
	}
	want := []string{
		`level: "verbose" is no log level, use debug, info, warn or error`,
		`format: "xml" is no log format, use auto, console or json`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNewRefusesABadConfig(t *testing.T) {
	_, err := New(Config{Level: "fatal", Format: "json"}, &bytes.Buffer{}, false, func() {})
	if want := `log: level: "fatal" is no log level, use debug, info, warn or error`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestFormatAutoFollowsTheTerminal(t *testing.T) {
	tests := []struct {
		format   string
		terminal bool
		json     bool
	}{
		{"auto", true, false}, {"auto", false, true},
		{"console", true, false}, {"console", false, false},
		{"json", true, true}, {"json", false, true},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		log, err := New(Config{Level: "info", Format: tt.format}, &out, tt.terminal, func() {})
		if err != nil {
			t.Fatal(err)
		}
		log.Info("up")
		if got := json.Valid(out.Bytes()); got != tt.json {
			t.Errorf("format %s, terminal %v: wrote %s", tt.format, tt.terminal, out.String())
		}
	}
}

func TestLevelIsTheLeastThatIsWritten(t *testing.T) {
	levels := []string{"debug", "info", "warn", "error"}
	for i, level := range levels {
		var out bytes.Buffer
		log, err := New(Config{Level: level, Format: "json"}, &out, false, func() {})
		if err != nil {
			t.Fatal(err)
		}
		log.Debug("debug")
		log.Info("info")
		log.Warn("warn")
		log.Error("error")
		for j, l := range levels {
			if got := strings.Contains(out.String(), `"msg":"`+l+`"`); got != (j >= i) {
				t.Errorf("level %s: %s written is %v", level, l, got)
			}
		}
	}
}

func TestJSONCarriesEveryFieldInMachineUnits(t *testing.T) {
	var out bytes.Buffer
	log := newLogger(t, "json", &out)
	log.With(zap.String(FieldTier, "1")).Info(Forward, append(wide("orders", 7),
		zap.Duration(FieldDelay, 1500*time.Millisecond), zap.Time(FieldNotBefore, start.Add(time.Second)),
		zap.Error(errors.New("two\nlines")))...)
	want := `{"level":"info","time":"2026-03-14T13:37:04.356Z","msg":"forward","tier":"1","topic":"orders","partition":0,"offset":7,` +
		`"key":"loan-0","event_id":"orders/0/0@0","relay":"loans","delay":1.5,"not_before":"2026-03-14T13:37:05.356Z","error":"two\nlines"}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// sampledLogger counts lines by message and level, and drops.
func sampledLogger(t *testing.T) (log *zap.Logger, lines func(text string) int, dropped *atomic.Int64) {
	t.Helper()
	out, dropped := &bytes.Buffer{}, &atomic.Int64{}
	log, err := New(Config{Level: "debug", Format: "json"}, out, false, func() { dropped.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	lines = func(text string) int { return strings.Count(out.String(), text) }
	return log.WithOptions(zap.WithClock(at(start))), lines, dropped
}

func TestInfoEventsAreSampledPerVerbAndDropsAreCounted(t *testing.T) {
	log, lines, dropped := sampledLogger(t)
	child := log.With(zap.String(FieldRelay, "loans"))
	verbs := []string{Attempt, Forward, Repark, DeadLetter}
	for range 500 {
		for _, verb := range verbs {
			log.Info(verb)
			child.Info(verb) // the rate is that of the process, not of one logger
		}
	}
	for _, verb := range verbs {
		if n := lines(`"msg":"` + verb + `"`); n != 100+9 {
			t.Errorf("%s: %d lines of 1000, want the first 100 and 9 of the rest", verb, n)
		}
	}
	if n := dropped.Load(); n != 4*(1000-109) {
		t.Errorf("%d drops counted, want %d", n, 4*(1000-109))
	}
	log.WithOptions(zap.WithClock(at(start.Add(time.Second)))).Info(Attempt, zap.Bool("later", true))
	if lines(`"later"`) != 1 {
		t.Error("the next second did not start anew")
	}
}

func TestOtherLinesAreNeverSampled(t *testing.T) {
	log, lines, dropped := sampledLogger(t)
	for range 300 {
		log.Debug(Hold)
		log.Debug(Deliver)
		log.Info("relay started")
		log.Warn("broker unreachable")
		log.Error(DeadLetter)
	}
	for _, msg := range []string{Hold, Deliver, "relay started", "broker unreachable", DeadLetter} {
		if n := lines(`"msg":"` + msg + `"`); n != 300 {
			t.Errorf("%s: %d lines of 300", msg, n)
		}
	}
	if n := dropped.Load(); n != 0 {
		t.Errorf("%d drops counted", n)
	}
}

// brokenSync is like a terminal, whose fsync fails with EINVAL.
type brokenSync struct{ bytes.Buffer }

func (*brokenSync) Sync() error { return errors.New("invalid argument") }

func TestSyncNeverFails(t *testing.T) {
	for _, format := range []string{"json", "console"} {
		log, err := New(Config{Level: "info", Format: format}, &brokenSync{}, false, func() {})
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Sync(); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}
