package logging

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func TestKeyIsBoundedAndReadable(t *testing.T) {
	tests := []struct {
		name string
		key  string
		want string
	}{
		{"text", "loan-0", "loan-0"},
		{"empty", "", ""},
		{"letters beyond ASCII", "Zürich-七", "Zürich-七"},
		{"exactly 64 bytes", strings.Repeat("k", 64), strings.Repeat("k", 64)},
		{"longer", strings.Repeat("k", 65), strings.Repeat("k", 64) + "…"},
		{"cut inside a rune", strings.Repeat("k", 62) + "七七", strings.Repeat("k", 62) + "…"},
		{"cut behind a rune", strings.Repeat("k", 61) + "七七", strings.Repeat("k", 61) + "七…"},
		{"binary", "\x00\x01\xff", "0x0001ff"},
		{"control byte", "a\x1bb", "0x611b62"},
		{"broken at its end, not cut", "loan\xe4\xb8", "0x6c6f616ee4b8"},
		{"long binary", strings.Repeat("\x00", 65), "0x" + strings.Repeat("00", 64) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := key(tt.key).String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestKeyIsBoundedInEveryFormat(t *testing.T) {
	for _, format := range []string{"console", "json"} {
		var out bytes.Buffer
		newLogger(t, format, &out).Info(DeadLetter, Key([]byte(strings.Repeat("k", 1000))))
		if n := strings.Count(out.String(), "k"); n != maxKey+1 { // and one in "key"
			t.Errorf("%s: %d bytes of the key in %q", format, n-1, out.String())
		}
	}
}

func TestNullKeyGivesNoFieldAndEmptyKeyDoes(t *testing.T) {
	for _, tt := range []struct {
		name string
		key  []byte
		want bool
	}{{"null", nil, false}, {"empty", []byte{}, true}} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			newLogger(t, "console", &out).Info(DeadLetter, Key(tt.key))
			if got := strings.Contains(out.String(), `key=""`); got != tt.want {
				t.Errorf("wrote %q", out.String())
			}
		})
	}
}

func FuzzKey(f *testing.F) {
	f.Add([]byte("loan-0"))
	f.Add([]byte(strings.Repeat("七", 30)))
	f.Add([]byte("\x80\x80\x80\x80"))
	f.Fuzz(func(t *testing.T, k []byte) {
		s := key(k).String()
		if !utf8.ValidString(s) || !printable(s) || len(s) > 2+2*maxKey+len("…") {
			t.Errorf("key %x became %q", k, s)
		}
	})
}

// The engine asks Check before it builds fields, millions of times an hour.
func TestLineThatIsNotWrittenAllocatesNothing(t *testing.T) {
	tests := []struct {
		name  string
		level string
		write func(*zap.Logger)
	}{
		{"level off", "info", func(log *zap.Logger) { event(log.Check(zap.DebugLevel, Hold)) }},
		{"sampled away", "info", func(log *zap.Logger) { event(log.Check(zap.InfoLevel, Attempt)) }},
		{"events off", "warn", func(log *zap.Logger) { event(log.Check(zap.InfoLevel, Forward)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log, err := New(Config{Level: tt.level, Format: "json"}, io.Discard, false, func() {})
			if err != nil {
				t.Fatal(err)
			}
			log = log.WithOptions(zap.WithClock(at(start)))
			for range sampleFirst {
				tt.write(log)
			}
			// AllocsPerRun rounds down, which hides the one line in a hundred that
			// sampling lets through.
			if n := testing.AllocsPerRun(1000, func() { tt.write(log) }); n != 0 {
				t.Errorf("%v allocations, want none", n)
			}
		})
	}
}

// event is what the engine does with an answer of Check.
func event(ce *zapcore.CheckedEntry) {
	if ce == nil {
		return
	}
	ce.Write(wide("library.loan.overdue", 1)...)
}
