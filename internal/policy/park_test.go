package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParkNameIsTheShortestSpelling(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"1m": time.Minute, "1m1s": 61 * time.Second, "10m": 10 * time.Minute, "1h": time.Hour, "1h30m": 90 * time.Minute,
		"1h0m10s": time.Hour + 10*time.Second, "24h": 24 * time.Hour, "4368h": maxDelay,
	} {
		if got := (Park{Delay: d}).Name(); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestScheduleSortsParkDelays(t *testing.T) {
	s := mustSchedule(t, func(c *Config) { c.Park = parks(24*time.Hour, time.Hour) })
	if diff := cmp.Diff([]time.Duration{time.Hour, 24 * time.Hour}, s.Park); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParkProblems(t *testing.T) {
	tests := []struct {
		name string
		park []Park
		want []string
	}{
		{"the bounds", parks(time.Minute, maxDelay), nil},
		{"too short", parks(time.Hour, 59*time.Second), []string{`park[1].delay: 59s is too short; a park topic is for waits of at least 1m0s`}},
		{"negative", parks(-time.Hour), []string{`park[0].delay: -1h0m0s is too short; a park topic is for waits of at least 1m0s`}},
		{"too long", parks(maxDelay + time.Second), []string{`park[0].delay: 4368h0m1s is too long; a delay is at most 4368h0m0s (182 days)`}},
		{"no whole seconds", parks(90*time.Second + 1), []string{`park[0].delay: 1m30.000000001s is not in whole seconds, as the name of a park topic is`}},
		{"twice", parks(time.Hour, 2*time.Hour, time.Hour), []string{`park[2].delay: 1h0m0s is the delay of park[0] too; one topic for each delay is enough`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := DefaultConfig()
			c.Tiers, c.Park = list(time.Second), tt.park
			_, errs := c.Schedule(time.Second, 3)
			var got []string
			for _, err := range errs {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func parks(delays ...time.Duration) (list []Park) {
	for _, d := range delays {
		list = append(list, Park{Delay: d})
	}
	return list
}

// mustSchedule is the schedule of tiers 5s, 30s and 5m.
func mustSchedule(t interface {
	Helper()
	Fatal(...any)
}, change func(*Config)) Schedule {
	t.Helper()
	c := DefaultConfig()
	c.Tiers = list(5*time.Second, 30*time.Second, 5*time.Minute)
	change(&c)
	s, errs := c.Schedule(10*time.Second, 3)
	if len(errs) > 0 {
		t.Fatal(errs[0])
	}
	return s
}
