package logging

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
)

// at stands still.
type at time.Time

func (a at) Now() time.Time                       { return time.Time(a) }
func (a at) NewTicker(time.Duration) *time.Ticker { panic("not used") }

// start is in another zone than the one that is written.
var start = time.Date(2026, 3, 14, 13, 37, 4, 356_000_000, time.UTC).In(time.FixedZone("", 7200))

// newLogger writes at debug, and counts nothing.
func newLogger(t testing.TB, format string, out *bytes.Buffer) *zap.Logger {
	t.Helper()
	log, err := New(Config{Level: "debug", Format: format}, out, false, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return log.WithOptions(zap.WithClock(at(start)))
}

// wide are the fields that the engine hands over whatever the verb.
func wide(topic string, offset int64) []zap.Field {
	return []zap.Field{
		zap.String(FieldTopic, topic), zap.Int32(FieldPartition, 0), zap.Int64(FieldOffset, offset),
		Key([]byte("loan-0")), zap.String(FieldEventID, topic+"/0/0@0"), zap.String(FieldRelay, "loans"),
	}
}

func TestConsoleTraceShowsEachVerbInItsLayout(t *testing.T) {
	var out bytes.Buffer
	log := newLogger(t, "console", &out)
	add := func(after time.Duration, level func(*zap.Logger, string, ...zap.Field), verb string, fields ...zap.Field) {
		level(log.WithOptions(zap.WithClock(at(start.Add(after)))), verb, fields...)
	}
	main, retry, dlt := "library.loan.overdue", "library.loan.overdue.retry.1", "library.loan.overdue.DLT"

	add(0, (*zap.Logger).Info, Attempt, append(wide(main, 0), zap.Int(FieldAttempt, 1), zap.Int(FieldStatus, 503),
		zap.String(FieldErrorKind, "status"), zap.String(FieldClass, "transient"), zap.String(FieldError, "status 503"),
		zap.Duration(FieldDuration, time.Millisecond))...)
	add(5*time.Millisecond, (*zap.Logger).Info, Forward, append(wide(main, 0), zap.Duration(FieldDelay, time.Second),
		zap.String(FieldNext, retry), zap.Int(FieldAttempt, 1))...)
	add(7*time.Millisecond, (*zap.Logger).Debug, Hold, append(wide(retry, 0), zap.Time(FieldNotBefore, start.Add(time.Second)),
		zap.Duration(FieldWait, 993*time.Millisecond))...)
	add(9*time.Millisecond, (*zap.Logger).Info, Repark, append(wide(retry, 3), zap.Int(FieldAttempt, 2), zap.String(FieldNext, "library.loan.overdue.park.24h"),
		zap.String(FieldReason, "wait"), zap.Duration(FieldWait, 48*time.Hour), zap.Time(FieldNotBefore, start.Add(48*time.Hour)))...)
	add(time.Second, (*zap.Logger).Info, Attempt, append(wide(retry, 0), zap.Int(FieldAttempt, 2), zap.Int(FieldStatus, 0),
		zap.String(FieldErrorKind, "timeout"), zap.String(FieldClass, "transient"), zap.String(FieldError, "no answer within 10s"))...)
	add(2*time.Second, (*zap.Logger).Debug, Deliver, append(wide(retry, 12), zap.Int32(FieldPartition, 3), zap.Int(FieldAttempt, 2),
		zap.Int(FieldStatus, 204), zap.Duration(FieldDuration, 1234*time.Microsecond))...)
	add(6046*time.Millisecond, (*zap.Logger).Info, DeadLetter, append(wide(retry, 7), zap.Int(FieldAttempt, 4), zap.String(FieldNext, dlt),
		zap.Int64(FieldDLTOffset, 0), zap.String(FieldReason, "exhausted"), zap.Int(FieldStatus, 503), zap.String(FieldClass, "transient"))...)
	add(7*time.Second, (*zap.Logger).Info, DeadLetter, append(wide(main, 8), zap.Int(FieldAttempt, 0), zap.String(FieldNext, dlt),
		zap.Int64(FieldDLTOffset, 1), zap.String(FieldReason, "expired"), zap.Int(FieldStatus, 0), zap.String(FieldClass, ""))...)

	want := `
13:37:04.356 attempt      library.loan.overdue           off=0 attempt=1 status=503 class=transient
13:37:04.361 forward      library.loan.overdue           off=0 attempt=1 -> library.loan.overdue.retry.1 delay=1s
13:37:04.363 hold         library.loan.overdue.retry.1   off=0 wait=993ms not-before=13:37:05.356
13:37:04.365 re-park      library.loan.overdue.retry.1   off=3 -> library.loan.overdue.park.24h reason=wait wait=48h
13:37:05.356 attempt      library.loan.overdue.retry.1   off=0 attempt=2 error=timeout class=transient cause="no answer within 10s"
13:37:06.356 deliver      library.loan.overdue.retry.1   off=12 part=3 attempt=2 status=204 duration=1ms
13:37:10.402 dead-letter  library.loan.overdue.DLT       off=0 attempt=4 key=loan-0 reason=exhausted
13:37:11.356 dead-letter  library.loan.overdue.DLT       off=1 attempt=0 key=loan-0 reason=expired
`
	if diff := cmp.Diff(want, "\n"+out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestConsoleMessageShowsLevelMessageAndEveryField(t *testing.T) {
	tests := []struct {
		name string
		log  func(*zap.Logger)
		want string
	}{
		{"info", func(l *zap.Logger) { l.Info("relay started", zap.String(FieldRelay, "loans"), zap.Int("tiers", 3)) },
			"13:37:04.356 info         relay started relay=loans tiers=3\n"},
		{"values with spaces are quoted", func(l *zap.Logger) {
			l.Error("commit", zap.Error(fmt.Errorf("broker 1: %w", errors.New(`no "route"`))))
		}, `13:37:04.356 error        commit error="broker 1: no \"route\""` + "\n"},
		{"fields of With come first", func(l *zap.Logger) {
			l.With(zap.String(FieldRelay, "loans")).With(zap.String(FieldTier, "1")).Warn("paused", zap.Duration("for", time.Minute))
		}, "13:37:04.356 warn         paused relay=loans tier=1 for=1m\n"},
		{"another day is named", func(l *zap.Logger) { l.Info("next", zap.Time("at", start.Add(24*time.Hour))) },
			"13:37:04.356 info         next at=2026-03-15T13:37:04.356Z\n"},
		{"skipped field", func(l *zap.Logger) { l.Info("up", Suppressed(0), Suppressed(7)) },
			"13:37:04.356 info         up suppressed=7\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			tt.log(newLogger(t, "console", &out))
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConsoleSiblingsOfWithDoNotShareFields(t *testing.T) {
	var out bytes.Buffer
	parent := newLogger(t, "console", &out).With(zap.Int("a", 1)).With(zap.Int("b", 2)).With(zap.Int("c", 3))
	one, two := parent.With(zap.Int("d", 4)), parent.With(zap.Int("e", 5))
	one.Info("one")
	two.Info("two")
	want := "13:37:04.356 info         one a=1 b=2 c=3 d=4\n13:37:04.356 info         two a=1 b=2 c=3 e=5\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestConsoleDuration(t *testing.T) {
	tests := map[time.Duration]string{
		0:                                   "0s",
		1499 * time.Nanosecond:              "1µs",
		412300 * time.Nanosecond:            "412µs",
		993400 * time.Microsecond:           "993ms",
		1043 * time.Millisecond:             "1.043s",
		10 * time.Second:                    "10s",
		5 * time.Minute:                     "5m",
		4*time.Minute + 25*time.Second:      "4m25s",
		10 * time.Hour:                      "10h",
		time.Hour + 10*time.Minute:          "1h10m",
		time.Hour + 10*time.Second:          "1h0m10s",
		-1500 * time.Millisecond:            "-1.5s",
		20*time.Minute + 50*time.Nanosecond: "20m",
	}
	for d, want := range tests {
		if got := duration(d); got != want {
			t.Errorf("duration(%d) = %q, want %q", d, got, want)
		}
	}
}

// FuzzConsole checks that no foreign text breaks out of its line or reaches the
// terminal as a control sequence.
func FuzzConsole(f *testing.F) {
	f.Add("library.loan.overdue", []byte("loan-0"), "connection refused")
	f.Add("a\x1b[2Jb", []byte("\x1b]0;title\x07"), "line\nfeed\r\u202e\u0085")
	f.Add("", []byte{}, "\xff\xfe")
	f.Fuzz(func(t *testing.T, topic string, k []byte, text string) {
		var out bytes.Buffer
		log := newLogger(t, "console", &out)
		log.Info(DeadLetter, zap.String(FieldNext, topic), Key(k), zap.String(FieldReason, text))
		log.Info(Forward, zap.String(FieldTopic, topic), zap.String(FieldNext, text))
		log.Warn(text, zap.String(FieldError, text), zap.ByteString("bytes", k))
		if n := strings.Count(out.String(), "\n"); n != 3 {
			t.Errorf("%d lines, want 3: %q", n, out.String())
		}
		for _, r := range strings.ReplaceAll(out.String(), "\n", "") {
			if !unicode.IsPrint(r) {
				t.Errorf("%q in %q", r, out.String())
			}
		}
	})
}
