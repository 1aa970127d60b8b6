package forward

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/retryd/retryd/internal/policy"
)

func TestActionIsOneOfFourWords(t *testing.T) {
	for text, want := range map[string]policy.Treatment{
		"retry": policy.TreatRetry, "RETRY": policy.TreatRetry, " Retry ": policy.TreatRetry,
		"dead-letter": policy.TreatDeadLetter, "Dead_Letter": policy.TreatDeadLetter,
		"review": policy.TreatReview, "done": policy.TreatDone,
		"": "", "hold": "", "stop": "", "deadletter": "", "retry, done": "", "retry\x00": "",
	} {
		if got, ok := action([]byte(text)); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, got, ok, want)
		}
	}
}

func TestRetrydDelayIsSecondsWithAFraction(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"0", 0, true},
		{"30", 30 * time.Second, true},
		{" 1.5 ", 1500 * time.Millisecond, true},
		{"0.001", time.Millisecond, true},
		{"0.0000000019", time.Nanosecond, true},
		{"31622400", 366 * 24 * time.Hour, true},
		{"31622399.999999999", 366*24*time.Hour - 1, true},
		{"31622400.000000001", 0, false},
		{"31622401", 0, false},
		{"9223372037", 0, false},
		{"18446744073709551616", 0, false},
		{strings.Repeat("9", 400), 0, false},
		{"-1", 0, false},
		{"+1", 0, false},
		{"1.", 0, false},
		{".5", 0, false},
		{"1.5.5", 0, false},
		{"1e3", 0, false},
		{"1_000", 0, false},
		{"0x10", 0, false},
		{"NaN", 0, false},
		{"5s", 0, false},
		{"1,5", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		if got, ok := retrydDelay([]byte(tt.text)); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q: %v, %v; want %v, %v", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	said := now.Add(-time.Hour).Format(http.TimeFormat) // a clock that is an hour slow
	until := now.Add(-time.Hour).Add(90 * time.Second)
	tests := []struct {
		name, text, date string
		want             time.Duration
		ok               bool
	}{
		{"seconds", "120", said, 2 * time.Minute, true},
		{"no seconds", "0", "", 0, true},
		{"the longest", "31622400", "", 366 * 24 * time.Hour, true},
		{"too long", "31622401", "", 0, false},
		{"more than there is time", "18446744073709551615", "", 0, false},
		{"imf-fixdate", until.Format(http.TimeFormat), said, 90 * time.Second, true},
		{"rfc 850", until.Format("Monday, 02-Jan-06 15:04:05 GMT"), said, 90 * time.Second, true},
		{"asctime", until.Format(time.ANSIC), said, 90 * time.Second, true},
		{"without a date to compare with", now.Add(time.Minute).Format(http.TimeFormat), "", time.Minute, true},
		{"with a senseless one", now.Add(time.Minute).Format(http.TimeFormat), "yesterday", time.Minute, true},
		{"in the past", now.Add(-2 * time.Hour).Format(http.TimeFormat), said, 0, true},
		{"the latest", "Tue, 02 Mar 2027 11:00:00 GMT", said, 366 * 24 * time.Hour, true},
		{"a second later", "Tue, 02 Mar 2027 11:00:01 GMT", said, 0, false},
		{"very far ahead", "Fri, 31 Dec 9999 23:59:59 GMT", said, 0, false},
		{"very long ago", "Mon, 01 Jan 0001 00:00:00 GMT", said, 0, true},
		{"a fraction", "1.5", "", 0, false},
		{"negative", "-1", "", 0, false},
		{"huge", strings.Repeat("9", 400), "", 0, false},
		{"garbage", "soon", "", 0, false},
		{"another form of date", "2026-03-01T12:00:00Z", "", 0, false},
		{"nothing", "", "", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := retryAfter([]byte(tt.text), []byte(tt.date), now); ok != tt.ok || got != tt.want {
				t.Errorf("%q with %q: %v, %v; want %v, %v", tt.text, tt.date, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func FuzzWords(f *testing.F) {
	f.Add([]byte("120"), []byte("Sun, 01 Mar 2026 12:00:00 GMT"))
	f.Add([]byte("Sunday, 01-Mar-26 12:00:00 GMT"), []byte(""))
	f.Add([]byte("Sun Mar  1 12:00:00 2026"), []byte("Fri, 31 Dec 9999 23:59:59 GMT"))
	f.Add([]byte("9223372036.999999999999"), []byte("-1"))
	f.Add([]byte("31622400.000000001"), []byte("Mon, 01 Jan 0001 00:00:00 GMT"))
	f.Add([]byte("dead_letter"), []byte("x"))
	f.Fuzz(func(t *testing.T, value, date []byte) {
		delay, ok := retrydDelay(value)
		if delay < 0 || ok && delay > longestAsked || ok && strings.ContainsAny(string(value), "-+eExX_") {
			t.Errorf("delay %q: %v, %v", value, delay, ok)
		}
		if d, ok := retryAfter(value, date, time.UnixMilli(0)); d < 0 || d > longestAsked || !ok && d != 0 {
			t.Errorf("retry after %q, %q: %v, %v", value, date, d, ok)
		}
		if _, ok := action(value); ok && len(value) < len("done") {
			t.Errorf("action %q", value)
		}
	})
}

// answered is what a client makes of an answer with these lines of header.
func answered(t *testing.T, status int, header string, change ...func(*Config)) policy.Outcome {
	t.Helper()
	text := fmt.Sprintf("HTTP/1.1 %d X\r\n%sContent-Length: 4\r\n\r\nbody", status, header)
	got := post(t, newClient(t, serveWire(t, answering(text)).url, change...), nil)
	got.Duration = 0
	return got
}

func rules(r ...policy.Rule) func(*Config) { return func(c *Config) { c.Rules = r } }

func TestEndpointDecidesByItself(t *testing.T) {
	tests := []struct {
		name   string
		status int
		header string
		change func(*Config)
		want   policy.Outcome
	}{
		{name: "dead letter for a 503", status: 503, header: "retryd-action: dead-letter\r\n", want: policy.Outcome{
			Verdict: policy.Verdict{Treatment: policy.TreatDeadLetter, Class: policy.ClassInvalid, Spoken: true},
			Kind:    policy.KindStatus, Status: 503, Error: "status 503, Retryd-Action: dead_letter", Response: []byte("body")}},
		{name: "retry for a 200", status: 200, header: "Retryd-Action: Retry\r\nRetry-After: 7\r\n", want: policy.Outcome{
			Verdict: policy.Verdict{Treatment: policy.TreatRetry, Class: policy.ClassTransient, Spoken: true},
			Kind:    policy.KindStatus, Status: 200, Error: "status 200, Retryd-Action: retry", Response: []byte("body"), Wait: 7 * time.Second}},
		{name: "review before a rule", status: 400, header: "Retryd-Action: review\r\n",
			change: rules(policy.Rule{Status: []policy.Statuses{"400"}, Action: policy.TreatDone}), want: policy.Outcome{
				Verdict: policy.Verdict{Treatment: policy.TreatReview, Class: policy.ClassConflict, Spoken: true},
				Kind:    policy.KindStatus, Status: 400, Error: "status 400, Retryd-Action: review", Response: []byte("body")}},
		{name: "done waits for nothing", status: 500, header: "Retryd-Action: done\r\nRetry-After: soon\r\nRetryd-Delay: 5\r\n", want: policy.Outcome{
			Verdict: policy.Verdict{Treatment: policy.TreatDone, Spoken: true}, Status: 500}},
		{name: "an unknown word is none", status: 503, header: "Retryd-Action: drop\r\n", want: policy.Outcome{
			Verdict: policy.VerdictOf(policy.ClassTransient), Ignored: policy.WordRetrydAction,
			Kind: policy.KindStatus, Status: 503, Error: "status 503", Response: []byte("body")}},
		{name: "an unknown word beside a 200", status: 200, header: "Retryd-Action: \x80\r\n", want: policy.Outcome{
			Verdict: policy.VerdictOf(policy.ClassNone), Ignored: policy.WordRetrydAction, Status: 200}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			change := tt.change
			if change == nil {
				change = func(*Config) {}
			}
			wantOutcome(t, answered(t, tt.status, tt.header, change), tt.want)
		})
	}
}

func TestEndpointAsksForAWait(t *testing.T) {
	const date = "Date: Sun, 01 Mar 2026 12:00:00 GMT\r\n"
	tests := []struct {
		name, header string
		want         time.Duration
		ignored      policy.Words
	}{
		{"nothing", "", 0, 0},
		{"retry after", "Retry-After: 120\r\n", 2 * time.Minute, 0},
		{"retry after a date", date + "Retry-After: Sun, 01 Mar 2026 12:01:30 GMT\r\n", 90 * time.Second, 0},
		{"delay", "Retryd-Delay: 0.25\r\n", 250 * time.Millisecond, 0},
		{"delay outweighs", "Retry-After: 120\r\nRetryd-Delay: 1\r\n", time.Second, 0},
		{"delay of nothing outweighs", "Retry-After: 120\r\nRetryd-Delay: 0\r\n", 0, 0},
		{"a senseless delay does not", "Retry-After: 120\r\nRetryd-Delay: -1\r\n", 2 * time.Minute, policy.WordRetrydDelay},
		{"more than it may", "Retry-After: 31622400\r\n", time.Hour, 0},
		{"a date of more than it may", date + "Retry-After: Mon, 01 Mar 2027 12:00:00 GMT\r\n", time.Hour, 0},
		{"a delay of more than it may", "Retryd-Delay: 3600.5\r\n", time.Hour, 0},
		{"more than anyone means", "Retry-After: 18446744073709551615\r\n", 0, policy.WordRetryAfter},
		{"a date beyond", date + "Retry-After: Wed, 03 Mar 2027 12:00:00 GMT\r\n", 0, policy.WordRetryAfter},
		{"a huge delay does not outweigh", "Retry-After: 120\r\nRetryd-Delay: 31622401\r\n", 2 * time.Minute, policy.WordRetrydDelay},
		{"all senseless", "Retry-After: -1\r\nRetryd-Delay: now\r\nRetryd-Action: drop\r\n", 0,
			policy.WordRetryAfter | policy.WordRetrydDelay | policy.WordRetrydAction},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := answered(t, 429, tt.header, func(c *Config) { c.MaxRetryAfter = time.Hour })
			if got.Wait != tt.want || got.Ignored != tt.ignored || got.Treatment != policy.TreatThrottle {
				t.Errorf("%v, ignored %b: %+v; want %v, %b", got.Wait, got.Ignored, got, tt.want, tt.ignored)
			}
		})
	}
}

func TestADateWithoutOneToCompareWithCountsFromNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var resp fasthttp.Response
		resp.Header.Set("Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
		var ignored policy.Words
		if got := wait(&resp, time.Now(), &ignored); got != time.Minute || ignored != 0 {
			t.Errorf("wait %v, ignored %b", got, ignored)
		}
	})
}

func TestWhatDeliversAsksForNoWait(t *testing.T) {
	got := answered(t, 200, "Retry-After: 120\r\nRetryd-Delay: -1\r\n")
	wantOutcome(t, got, policy.Outcome{Verdict: policy.VerdictOf(policy.ClassNone), Status: 200})
}

func TestTrailerSaysNothing(t *testing.T) {
	s := serveWire(t, answering("HTTP/1.1 503 X\r\nTransfer-Encoding: chunked\r\nTrailer: Retryd-Action\r\n\r\n2\r\nok\r\n0\r\nRetryd-Action: done\r\n\r\n"))
	if got := post(t, newClient(t, s.url), nil); got.Spoken || got.Treatment != policy.TreatRetry {
		t.Errorf("outcome %+v", got)
	}
}
