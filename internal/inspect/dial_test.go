package inspect

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/tier"
)

func TestSilenceTakesNobodysTurn(t *testing.T) {
	tests := []struct {
		name   string
		silent int
		lasts  time.Duration // of each of the silent ones, if it may
		want   error         // of the one behind them
	}{
		{"dozens for ever", 63, time.Hour, nil},
		{"many for a while", 127, 6 * time.Second, nil},
		{"more than there is time for", 64, time.Hour, errNoTurn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				errs := dialAll(t.Context(), tt.silent+1, func(ctx context.Context, i int) error {
					if i == tt.silent {
						return ctx.Err()
					}
					began := time.Now()
					ctx, cancel := context.WithTimeout(ctx, tt.lasts)
					defer cancel()
					<-ctx.Done()
					if took, most := time.Since(began), min(tt.lasts, patience); took != most {
						t.Errorf("dial %d was given up after %v, want %v from its own beginning", i, took, most)
					}
					return ctx.Err()
				})
				if got := errs[tt.silent]; !errors.Is(got, tt.want) {
					t.Errorf("the one that answers: %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestNothingIsDialledAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range dialAll(ctx, 3, func(context.Context, int) error { return errors.New("dialled") }) {
		if !errors.Is(err, errNoTurn) {
			t.Error(err)
		}
	}
}

func TestWhatWasNotDialledIsNoFailure(t *testing.T) {
	relay := tier.Config{Name: "loans"}
	relay.Endpoint.URL = "https://library.example.com/loans?token=secret"
	got := append(
		brokerFindings([]string{"a:9092"}, []error{errNoTurn}, true),
		endpointFinding(relay, errNoTurn),
	)
	want := []Finding{
		{Warn, "", "brokers", "a:9092 was not looked at: too many other addresses gave no answer"},
		{Warn, "loans", "endpoint", "https://library.example.com/loans was not looked at: too many other addresses gave no answer"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestEndpointsOfOneServerShareAConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	url := "http://" + listener.Addr().String()
	cfg := loadText(t, strings.ReplaceAll(`
defaults: {tiers: []}
relays:
  - {topic: a, endpoint: {url: "URL/a"}}
  - {topic: b, endpoint: {url: "URL/b?token=secret", bearer_token: other}}
  - {topic: c, endpoint: {url: "URL/c", bearer_token_file: /nowhere/token}}
  - {topic: d, endpoint: {url: "URL/a"}}
`, "URL", url))
	got := lookAtEndpoints(t.Context(), cfg.Relays, "test")
	want := []Finding{
		{OK, "a", "endpoint", url + "/a takes connections; nothing was posted"},
		{OK, "b", "endpoint", url + "/b takes connections; nothing was posted"},
		{Fail, "c", "endpoint", "endpoint.bearer_token_file: open /nowhere/token: no such file or directory; check as the user that runs retryd"},
		{OK, "d", "endpoint", url + "/a takes connections; nothing was posted"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if n := connectionsTo(t, listener); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// connectionsTo counts those that nobody has accepted yet.
func connectionsTo(t *testing.T, listener net.Listener) int {
	t.Helper()
	last, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	for n := 0; ; n++ {
		accepted, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		accepted.Close()
		if accepted.RemoteAddr().String() == last.LocalAddr().String() {
			return n
		}
	}
}
