package status

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	up      = Relay{Name: "up", Ready: true}
	joining = Relay{Name: "joining", Problems: []Problem{{Text: "is not a member of retryd-joining", Blocking: true}}}
	faulty  = Relay{Name: "faulty", Fault: true, Problems: []Problem{{Text: "main topic faulty does not exist", Blocking: true}}}
	blocked = []Problem{{Text: "waiting for Kafka at 127.0.0.1:9092", Blocking: true}}
	warned  = []Problem{{Text: "log lines cannot be written: no space left on device"}}
)

func TestReadiness(t *testing.T) {
	tests := []struct {
		name     string
		problems []Problem
		relays   []Relay
		want     bool
	}{
		{"one relay", nil, []Relay{up}, true},
		{"all relays", nil, []Relay{up, up}, true},
		{"no relay", nil, nil, false},
		{"another is joining", nil, []Relay{up, joining}, false},
		{"another has a fault", nil, []Relay{faulty, up}, true},
		{"one has a fault, one is joining", nil, []Relay{faulty, up, joining}, false},
		{"all have a fault", nil, []Relay{faulty, faulty}, false},
		{"none is ready", nil, []Relay{joining, joining}, false},
		{"the process is blocked", blocked, []Relay{up}, false},
		{"the process has a problem that does not block", warned, []Relay{up}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Assemble("1", time.Time{}, time.Time{}, tt.problems, tt.relays).Ready; got != tt.want {
				t.Errorf("ready: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestJSONOfAnIdleProcess(t *testing.T) {
	east := time.FixedZone("", 2*60*60)
	since := time.Date(2026, 11, 5, 14, 0, 0, 0, east)
	p := Assemble("1.2.3", since, since.Add(1500*time.Millisecond+7), nil, []Relay{{Name: "loans", Ready: true, Tiers: []Tier{{Name: "main", Topic: "loans", Group: "retryd-loans"}}}})
	got, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "version": "1.2.3",
  "time": "2026-11-05T12:00:01.5Z",
  "since": "2026-11-05T12:00:00Z",
  "ready": true,
  "problems": [],
  "relays": [
    {
      "name": "loans",
      "ready": true,
      "fault": false,
      "endpoint": "",
      "in_flight": 0,
      "halt": null,
      "problems": [],
      "last_error": null,
      "tiers": [
        {
          "tier": "main",
          "topic": "loans",
          "group": "retryd-loans",
          "delay_seconds": 0,
          "retired": false,
          "joined": false,
          "partitions": [],
          "due": null,
          "held": null,
          "oldest_due_age_seconds": null,
          "oldest_record_age_seconds": null,
          "furthest_due": null,
          "last_error": null
        }
      ],
      "dlt": {
        "topic": "",
        "records": null
      },
      "review": null
    }
  ]
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestEveryTimeIsUTC(t *testing.T) {
	at := time.Date(2026, 11, 5, 14, 0, 0, 123456789, time.FixedZone("", 2*60*60))
	want := time.Date(2026, 11, 5, 12, 0, 0, 123000000, time.UTC)
	problems := []Problem{{Since: at}}
	relays := []Relay{{
		Problems: []Problem{{Since: at}}, LastError: &Event{Time: at}, Halt: &Halt{Since: at},
		Tiers: []Tier{{Furthest: &at, LastError: &Event{Time: at}, Partitions: []int32{1}}},
	}}
	p := Assemble("1", at, at, problems, relays)
	r := p.Relays[0]
	for name, got := range map[string]time.Time{
		"time": p.Time, "since": p.Since, "problem": p.Problems[0].Since, "relay's problem": r.Problems[0].Since,
		"relay's last error": r.LastError.Time, "relay's halt": r.Halt.Since, "furthest": *r.Tiers[0].Furthest, "tier's last error": r.Tiers[0].LastError.Time,
	} {
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestPartsStayAsTheyAre(t *testing.T) {
	at := time.Date(2026, 11, 5, 14, 0, 0, 0, time.FixedZone("", 2*60*60))
	problems := []Problem{{Since: at}}
	relays := []Relay{{Problems: []Problem{{Since: at}}, LastError: &Event{Time: at}, Halt: &Halt{Since: at}, Tiers: []Tier{{Furthest: &at, Partitions: []int32{1}}}}}
	p := Assemble("1", at, at, problems, relays)
	p.Relays[0].Tiers[0].Partitions[0] = 2
	if problems[0].Since != at || relays[0].Problems[0].Since != at || relays[0].LastError.Time != at || relays[0].Halt.Since != at ||
		relays[0].Tiers[0].Furthest.Location() == time.UTC || relays[0].Tiers[0].Partitions[0] != 1 {
		t.Errorf("changed: %+v %+v", problems, relays)
	}
}
