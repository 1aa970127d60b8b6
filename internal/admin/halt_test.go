package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/status"
)

// obeys is a process of one relay, loans, that does what it is told; got has the orders.
func obeys(got *[]string) Source {
	s := fine()
	do := func(verb string) func(context.Context, string, Order) (Halted, error) {
		return func(ctx context.Context, relay string, o Order) (Halted, error) {
			left := "no deadline"
			if at, ok := ctx.Deadline(); ok && time.Until(at) <= haltTimeout {
				left = "in time"
			}
			*got = append(*got, fmt.Sprintf("%s %s by %s: %s, %s", verb, relay, o.By, o.Reason, left))
			switch relay {
			case "loans":
				h := &status.Halt{State: status.Paused, Reason: o.Reason, By: o.By, Since: time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)}
				return Halted{Relay: relay, Halt: h}, nil
			case "away":
				return Halted{}, errors.New("topic retryd.control did not acknowledge it:\nno broker answers")
			}
			return Halted{}, fmt.Errorf("%w: %q; there is loans", ErrNoRelay, relay)
		}
	}
	s.Pause, s.Resume = do("pause"), do("resume")
	return s
}

func TestOrders(t *testing.T) {
	const bad = "the body must be empty or one object of JSON, as {\"reason\": \"maintenance\"}\n"
	const kind = "the Content-Type must be application/json, also without a body\n"
	long := strings.Repeat("x", 257)
	tests := []struct {
		name, path, kind, body string
		status                 int
		want                   string // "": an object
		order                  string
	}{
		{"without a body", "loans/pause", "application/json", "", 200, "", "pause loans by api: , in time"},
		{"with everything", "loans/resume", "application/json; charset=utf-8", `{"reason":"done","by":"alice"}`, 200, "", "resume loans by alice: done, in time"},
		{"an unknown relay", "orders/pause", "application/json", "", 404, "no relay has this name: \"orders\"; there is loans\n", "pause orders by api: , in time"},
		{"Kafka away", "away/pause", "application/json", "", 503, "topic retryd.control did not acknowledge it: no broker answers\n", "pause away by api: , in time"},
		{"a form, as a page may send it", "loans/pause", "application/x-www-form-urlencoded", "reason=x", 415, kind, ""},
		{"plain text, as a page may send it", "loans/pause", "text/plain", `{"reason":"x"}`, 415, kind, ""},
		{"no type", "loans/pause", "", "", 415, kind, ""},
		{"no JSON", "loans/pause", "application/json", "reason", 400, bad, ""},
		{"two objects", "loans/pause", "application/json", `{}{}`, 400, bad, ""},
		{"an unknown field", "loans/pause", "application/json", `{"why":"x"}`, 400, bad, ""},
		{"a long reason", "loans/pause", "application/json", `{"reason":"` + long + `"}`, 400, "the reason has 257 bytes; it has at most 256\n", ""},
		{"a long body", "loans/pause", "application/json", strings.Repeat(" ", 4097), 413, "the body has more than 4 KiB\n", ""},
		{"another verb", "loans/stop", "application/json", "", 404, "404 page not found\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			s := started(t, obeys(&got))
			answer := do(t, orderFor(t, s, tt.path, tt.kind, tt.body))
			if answer.status != tt.status || tt.want != "" && answer.body != tt.want || tt.want == "" && !strings.HasPrefix(answer.body, "{") {
				t.Errorf("%d %q, want %d %q", answer.status, answer.body, tt.status, tt.want)
			}
			if strings.Join(got, "; ") != tt.order {
				t.Errorf("orders %q, want %q", got, tt.order)
			}
		})
	}
}

func orderFor(t *testing.T, s *Server, path, kind, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://"+s.Addr()+"/api/v1/relays/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	return req
}

func TestOrdersAreForThisHostAlone(t *testing.T) {
	var got []string
	s := started(t, obeys(&got))
	foreign := orderFor(t, s, "loans/pause", "application/json", "")
	foreign.Host = "evil.example:9464"
	passed := orderFor(t, s, "loans/pause", "application/json", "")
	passed.Header.Set("X-Forwarded-For", "192.0.2.7")
	if a, b := do(t, foreign).status, do(t, passed).status; a != 421 || b != 403 {
		t.Errorf("a foreign host gets %d, a proxy %d", a, b)
	}
	if answer := request(t, s, "GET", "/api/v1/relays/loans/pause"); answer.status != 405 || answer.header.Get("Allow") != "POST" {
		t.Errorf("a GET gets %d", answer.status)
	}
	if answer := request(t, s, "OPTIONS", "/api/v1/relays/loans/pause"); answer.status != 405 {
		t.Errorf("a browser that asks whether a page may gets %d", answer.status)
	}
	if len(got) > 0 {
		t.Errorf("orders %q", got)
	}
}

func TestOrderOfAClient(t *testing.T) {
	var got []string
	s := started(t, obeys(&got))
	done, err := Pause(t.Context(), s.Addr(), "loans", Order{Reason: "upgrade", By: "alice"})
	want := Halted{Relay: "loans", Halt: &status.Halt{State: status.Paused, Reason: "upgrade", By: "alice", Since: time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)}}
	if diff := cmp.Diff(want, done); diff != "" || err != nil {
		t.Errorf("error %v, answer (-want +got):\n%s", err, diff)
	}
	_, err = Resume(t.Context(), s.Addr(), "a/b c", Order{})
	if want := s.Addr() + ` answers 404 Not Found: no relay has this name: "a/b c"; there is loans`; text(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = Resume(t.Context(), s.Addr(), "away", Order{})
	if want := s.Addr() + " answers 503 Service Unavailable: topic retryd.control did not acknowledge it: no broker answers"; text(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	if diff := cmp.Diff([]string{"pause loans by alice: upgrade, in time", "resume a/b c by api: , in time", "resume away by api: , in time"}, got); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}
