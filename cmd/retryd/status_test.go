package main

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/admin"
	"github.com/retryd/retryd/internal/status"
)

// listen answers as a running daemon does, until the end of the test. It returns
// the daemon's address.
func listen(t *testing.T, source admin.Source) string {
	t.Helper()
	s := admin.New(admin.Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), source, zap.NewNop())
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s.Addr()
}

func healthy() string { return "" }

// running is a daemon of two relays, of which one has trouble.
func running() status.Process {
	since := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	now := since.Add(3*time.Hour + 12*time.Minute)
	seconds := func(s float64) *float64 { return &s }
	furthest, records := now.Add(4*time.Minute+41*time.Second), int64(7)
	missing := status.Event{
		Time: since.Add(time.Second),
		Text: "main topic orders does not exist: create it, or correct the relay's topic; retryd never creates a main topic",
	}
	orders := status.Relay{
		Name: "orders", Fault: true, Endpoint: "http://127.0.0.1:8080/orders",
		Problems:  []status.Problem{{Text: missing.Text, Since: missing.Time, Blocking: true}},
		LastError: &missing,
		Tiers:     []status.Tier{{Name: "main", Topic: "orders"}, {Name: "1", Topic: "orders.retry.1"}},
		DLT:       status.DLT{Topic: "orders.DLT"},
	}
	refused := &status.Event{Time: now.Add(-3 * time.Second), Text: "library.loan.overdue.retry.1/0 offset 42, attempt 2: connect 127.0.0.1:8080: connection refused"}
	loans := status.Relay{
		Name: "loans", Ready: true, Endpoint: "http://127.0.0.1:8080/loans/overdue", InFlight: 3,
		LastError: refused,
		Tiers: []status.Tier{
			{
				Name: "main", Topic: "library.loan.overdue", Joined: true, Partitions: []int32{0, 1, 2},
				Due: new(int64), Held: new(int64),
			},
			{
				Name: "1", Topic: "library.loan.overdue.retry.1", Joined: true, Partitions: []int32{0, 1, 2, 5},
				Due: new(int64(12)), Held: new(int64(100)), OldestDue: seconds(2.75), Furthest: &furthest, LastError: refused,
			},
			{
				Name: "2", Topic: "library.loan.overdue.retry.2", Joined: true, Partitions: []int32{0, 1, 2, 5},
				Due: new(int64), Held: new(int64),
				LastError: &status.Event{Time: since.Add(time.Minute), Text: "the group's coordinator is not available"},
			},
			{
				Name: "4", Topic: "library.loan.overdue.retry.4", Joined: true, Retired: true, Partitions: []int32{4},
				Due: new(int64), Held: new(int64),
			},
		},
		DLT:    status.DLT{Topic: "library.loan.overdue.DLT", Records: &records},
		Review: &status.DLT{Topic: "library.loan.overdue.review", Records: new(int64(1))},
	}
	return status.Assemble("1.2.3", since, now, nil, []status.Relay{loans, orders})
}

func TestStatusShowsEveryRelay(t *testing.T) {
	addr := listen(t, admin.Source{Status: running, Stalled: healthy})
	out := execute(t, nil, nil, "status", "--address", addr)
	if out.Code != 0 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	golden(t, "status/running.txt", out.Stdout)
	documented(t, out.Stdout)
}

func TestStatusShowsWhatAProcessWaitsFor(t *testing.T) {
	waiting := func() status.Process {
		p := running()
		return status.Assemble("1.2.3", p.Since, p.Time, []status.Problem{{
			Text: "waiting for Kafka at 127.0.0.1:9092\x1b[2J", Since: p.Since, Blocking: true,
		}}, nil)
	}
	out := execute(t, nil, nil, "status", "--address", listen(t, admin.Source{Status: waiting, Stalled: healthy}))
	want := output{Stdout: `retryd 1.2.3: not ready, up 3h12m (since 2026-01-31 08:00:00 UTC)
  problem for 3h12m: waiting for Kafka at 127.0.0.1:9092 [2J
`}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestStatusAsJSONIsWhatTheDaemonSays(t *testing.T) {
	addr := listen(t, admin.Source{Status: running, Stalled: healthy})
	out := execute(t, nil, nil, "status", "--address", addr, "--output", "json")
	var got status.Process
	if err := json.Unmarshal([]byte(out.Stdout), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(running(), got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestStatusTellsNothingTwice(t *testing.T) {
	at := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	event := func(text string) *status.Event { return &status.Event{Time: at, Text: text} }
	problems := []status.Problem{{Text: "is not a member of retryd-loans: not authorized: grant Read on the group", Since: at}}
	tests := []struct {
		name        string
		relay, tier *status.Event
		want        []string // beginnings of the last errors that are shown
	}{
		{"none", nil, nil, nil},
		{"a problem's", event(problems[0].Text), nil, nil},
		{"what a problem says of the group", nil, event("not authorized: grant Read on the group"), nil},
		{"another", event("attempt 2: status 503"), event("the coordinator moved"), []string{"last error, 0s ago: attempt 2", "last error of loans, 0s ago: the coordinator"}},
		{"the tier's is the relay's", event("attempt 2: status 503"), event("attempt 2: status 503"), []string{"last error, 0s ago: attempt 2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			relay := status.Relay{Problems: problems, LastError: tt.relay, Tiers: []status.Tier{{Name: "main", Topic: "loans", LastError: tt.tier}}}
			writeRelayStatus(&out, relay, at)
			if got := strings.Count(out.String(), "last error"); got != len(tt.want) {
				t.Errorf("%d last errors:\n%s", got, &out)
			}
			for _, beginning := range tt.want {
				if !strings.Contains(out.String(), "\n  "+beginning) {
					t.Errorf("no %q in\n%s", beginning, &out)
				}
			}
		})
	}
}

// nobody returns an address where nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return l.Addr().String()
}

func TestStatusSaysThatNobodyAnswers(t *testing.T) {
	addr := nobody(t)
	for _, command := range []string{"status", "healthcheck"} {
		out := execute(t, nil, nil, command, "--address", addr)
		out.Stderr = strings.ReplaceAll(out.Stderr, addr, "127.0.0.1:9464")
		want := output{Code: 1, Stderr: "retryd: nobody listens at 127.0.0.1:9464: is retryd running, and is admin.listen the same?\n"}
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}

func TestAddressOfTheDaemon(t *testing.T) {
	file := writeFile(t, goodFile+"admin: {listen: \"127.0.0.1:1\"}\n")
	needsSecret := writeFile(t, "admin: {listen: \"127.0.0.1:1\"}\nrelays: [{topic: a, endpoint: {bearer_token_file: \"${CREDENTIALS_DIRECTORY}/token\"}}]\n")
	noListener := writeFile(t, goodFile+"admin: {listen: \"\"}\n")
	tests := []struct {
		name    string
		options addressOptions
		environ []string
		want    string
	}{
		{"default", addressOptions{}, nil, "127.0.0.1:9464"},
		{"environment", addressOptions{}, []string{"RETRYD_ADMIN_LISTEN=127.0.0.1:2"}, "127.0.0.1:2"},
		{"empty variable", addressOptions{}, []string{"RETRYD_ADMIN_LISTEN="}, "127.0.0.1:9464"},
		{"file", addressOptions{config: file}, nil, "127.0.0.1:1"},
		{"environment over file", addressOptions{config: file}, []string{"RETRYD_ADMIN_LISTEN=127.0.0.1:2"}, "127.0.0.1:2"},
		{"flag over environment", addressOptions{address: "127.0.0.1:3"}, []string{"RETRYD_ADMIN_LISTEN=127.0.0.1:2"}, "127.0.0.1:3"},
		{"file without a listener", addressOptions{config: noListener}, nil, ""},
		{"file with problems elsewhere", addressOptions{config: needsSecret}, nil, "127.0.0.1:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := program{environ: tt.environ}.addressOf(tt.options)
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestHealthcheck(t *testing.T) {
	other := startEndpoint(t, 200, "welcome").Listener.Addr().String()
	source := admin.Source{Status: running, Stalled: func() string { return "relay loans made no progress for 2m" }}
	ready, stalled := listen(t, admin.Source{Status: running, Stalled: healthy}), listen(t, source)
	unready := listen(t, admin.Source{Stalled: healthy, Status: func() status.Process {
		p := running()
		return status.Assemble(p.Version, p.Since, p.Time, nil, p.Relays[1:])
	}})
	tests := []struct {
		name string
		args []string
		addr string
		want output
	}{
		{"healthy", nil, ready, output{}},
		{"another program", nil, other, output{Code: 1, Stderr: "retryd: what listens at ADDR is another program: its /healthz answers 200 without the word ok\n"}},
		{"ready", []string{"--ready"}, ready, output{}},
		{"not ready, and healthy", nil, unready, output{}},
		{"not ready", []string{"--ready"}, unready, output{Code: 1, Stderr: "retryd: /readyz of ADDR answers 503: not ready; " +
			"relay orders: main topic orders does not exist: create it, or correct the relay's topic; retryd never creates a main topic\n"}},
		{"stalled", nil, stalled, output{Code: 1, Stderr: "retryd: /healthz of ADDR answers 503: relay loans made no progress for 2m\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := execute(t, nil, nil, append([]string{"healthcheck", "--address", tt.addr}, tt.args...)...)
			out.Stderr = strings.ReplaceAll(out.Stderr, tt.addr, "ADDR")
			if diff := cmp.Diff(tt.want, out); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRanges(t *testing.T) {
	tests := []struct {
		numbers []int32
		want    string
	}{
		{nil, "-"},
		{[]int32{4}, "4"},
		{[]int32{0, 1}, "0-1"},
		{[]int32{0, 2, 3, 4, 9}, "0,2-4,9"},
	}
	for _, tt := range tests {
		if got := ranges(tt.numbers); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.numbers, got, tt.want)
		}
	}
}

func TestAge(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{0, "0s"},
		{2750 * time.Millisecond, "2.8s"},
		{5 * time.Minute, "5m"},
		{23*time.Hour + 59*time.Minute, "23h59m"},
		{24 * time.Hour, "1d"},
		{7*24*time.Hour + 90*time.Minute, "7d1h"},
	}
	for _, tt := range tests {
		if got := age(tt.d); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.d, got, tt.want)
		}
	}
}
