package inspect

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/record"
)

func stateOfMain() record.State { return record.State{} }

func someTime() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// The texts that are made of a description are shown whole by the tests of the
// command check.

func TestDescribeReference(t *testing.T) {
	cfg, err := config.Load("../../configs/retryd.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	const s, m = Seconds(time.Second), Seconds(time.Minute)
	const name = "library.loan.overdue"
	attempt := func(number int, tier string, delay, shortest, longest, earliest, latest Seconds) Attempt {
		return Attempt{
			Number: number, Tier: strconv.Itoa(number - 1), Topic: name + tier, Group: "retryd-" + name + "-retry-" + name + tier,
			Delay: delay, Shortest: shortest, Longest: longest, Earliest: earliest, Latest: latest,
		}
	}
	want := Description{
		MaxInFlight: 16, WindowBytes: 64 << 20,
		Relays: []RelayDescription{{
			Name: name, Topic: name, Consume: true, Group: "retryd-" + name, Start: "earliest",
			Ordering: "none", OrderingMeans: cfg.Relays[0].OrderingSentence(),
			Endpoint: "http://127.0.0.1:8080/loans/overdue", Success: []int{},
			Timeout: 10 * s, MaxInFlight: 16, LimitedAttempts: 3, MaxRetryAfter: 24 * 60 * m, Guard: Guard{RetryShare: 0.5, Breaker: true, ProbeInterval: s, MaxProbeInterval: m, Ramp: 10 * s}, Answers: DefaultAnswers(),
			Attempts: []Attempt{
				{Number: 1, Tier: "main", Topic: name, Group: "retryd-" + name},
				attempt(2, ".retry.1", 5*s, 4*s, 6*s, 4*s, 6*s),
				attempt(3, ".retry.2", 30*s, 24*s, 36*s, 28*s, 52*s),
				attempt(4, ".retry.3", 5*m, 4*m, 6*m, 4*m+28*s, 7*m+2*s),
			},
			Park: []Park{}, DLT: DeadLetters{name + ".DLT"}, End: 7*m + 12*s, Budget: 7*m + 12*s, Lifetime: 72 * 60 * m,
			InPlace: InPlace{1, s / 5}, OnExhausted: "dead_letter", MaxReplays: 10,
			Cost: Cost{Records: 1000, Failing: 100, Retries: 3, Requests: 1300, Writes: 400},
		}},
	}
	if diff := cmp.Diff(want, Describe(cfg)); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
}

func TestDescribeWhereTheApplicationReadsTheMainTopic(t *testing.T) {
	tests := []struct {
		name  string
		tiers string
		want  []Attempt
		end   time.Duration
		made  int
	}{
		{"tiers", "[5s, 30s]", []Attempt{
			{Number: 1, Tier: "main", Topic: "loans"},
			{
				Number: 2, Tier: "1", Topic: "loans.retry.1", Group: "retryd-loans-retry-loans.retry.1",
				Delay: Seconds(5 * time.Second), Shortest: Seconds(5 * time.Second), Longest: Seconds(5 * time.Second),
			},
			{
				Number: 3, Tier: "2", Topic: "loans.retry.2", Group: "retryd-loans-retry-loans.retry.2",
				Delay: Seconds(30 * time.Second), Shortest: Seconds(24 * time.Second), Longest: Seconds(36 * time.Second),
				Earliest: Seconds(24 * time.Second), Latest: Seconds(36 * time.Second),
			},
		}, 46 * time.Second, 2},
		{"no tiers", "[]", []Attempt{{Number: 1, Tier: "main", Topic: "loans"}}, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := loadText(t, "relays: [{topic: loans, consume: false, endpoint: {url: 'http://127.0.0.1/'}, tiers: "+tt.tiers+"}]")
			got := Describe(cfg).Relays[0]
			if diff := cmp.Diff(tt.want, got.Attempts); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
			if got.Group != "" || time.Duration(got.End) != tt.end || got.Made() != tt.made {
				t.Errorf("group %q, end %v, made %d", got.Group, time.Duration(got.End), got.Made())
			}
		})
	}
}

func TestDescribeMarksWhatLimitsPrevent(t *testing.T) {
	tests := []struct {
		limit string
		want  []Attempt // the marks of those behind main
	}{
		{"budget: 15s", []Attempt{{}, {Budget: true, Never: true}}},
		{"budget: 36s", []Attempt{{}, {Shortened: true}}},
		{"lifetime: 10s", []Attempt{{}, {Lifetime: true}}},
		{"expire_after: 20s", []Attempt{{}, {Expiry: true, Never: true}}},
		{"expire_after: 40s", []Attempt{{}, {Expiry: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.limit, func(t *testing.T) {
			cfg := loadText(t, "relays: [{topic: loans, endpoint: {url: 'http://127.0.0.1/'}, tiers: [5s, 30s], "+tt.limit+"}]")
			var got []Attempt
			for _, a := range Describe(cfg).Relays[0].Attempts[1:] {
				got = append(got, Attempt{Shortened: a.Shortened, Budget: a.Budget, Lifetime: a.Lifetime, Expiry: a.Expiry, Never: a.Never})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDescribeShowsNoSecretOfAURL(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:8080/loans?token=secret":         "http://127.0.0.1:8080/loans",
		"unix:///run/app.sock:/loans?token=secret":         "unix:///run/app.sock:/loans",
		"https://library.example.com?token=secret?another": "https://library.example.com",
	} {
		cfg := loadText(t, `
relays:
  - topic: a
    endpoint: {url: "`+url+`"}
    tiers: [5s]
`)
		if got := Describe(cfg).Relays[0].Endpoint; got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}

func TestCostCountsWhatRetrydDoes(t *testing.T) {
	tests := []struct {
		name string
		text string
		want Cost
	}{
		{"no tiers", `{tiers: []}`, Cost{Requests: 1000, Writes: 100}},
		{"two tiers", `{tiers: [5s, 30s]}`, Cost{Retries: 2, Requests: 1200, Writes: 300}},
		{"the application makes the first attempts", `{tiers: [5s, 30s], consume: false}`, Cost{Retries: 2, Requests: 200, Writes: 200}},
		{"a tier in which records expire", `{tiers: [5s, 30s, 5m], expire_after: 20s}`, Cost{Retries: 1, Requests: 1100, Writes: 300}},
		{"a tier in which the application's records expire", `{tiers: [5s, 30s], consume: false, expire_after: 5s}`, Cost{Writes: 100}},
		{"a tier in which records may expire", `{tiers: [5s, 30s], expire_after: 40s}`, Cost{Retries: 2, Requests: 1200, Writes: 300}},
		{"a tier that the budget never allows", `{tiers: [5s, 30s], budget: 15s}`, Cost{Retries: 1, Requests: 1100, Writes: 200}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := loadText(t, "relays: [{topic: a, endpoint: {url: 'http://127.0.0.1/'}}]\ndefaults: "+tt.text)
			tt.want.Records, tt.want.Failing = 1000, 100
			if diff := cmp.Diff(tt.want, Describe(cfg).Relays[0].Cost); diff != "" {
				t.Errorf("cost (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecondsAreNumbersInJSON(t *testing.T) {
	got, err := json.Marshal(struct {
		D Seconds `json:"d"`
	}{Seconds(1500 * time.Millisecond)})
	if err != nil || string(got) != `{"d":1.5}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestDescribeParkTopics(t *testing.T) {
	d := Describe(loadText(t, `
relays:
  - {topic: a, endpoint: {url: "http://127.0.0.1/"}, tiers: [5s], park: [24h, {delay: 1h, topic: hour}]}
`))
	want := []Park{
		{Tier: "park-1h", Topic: "hour", Group: "retryd-a-retry-hour", Delay: Seconds(time.Hour)},
		{Tier: "park-24h", Topic: "a.park.24h", Group: "retryd-a-retry-a.park.24h", Delay: Seconds(24 * time.Hour)},
	}
	if diff := cmp.Diff(want, d.Relays[0].Park); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
