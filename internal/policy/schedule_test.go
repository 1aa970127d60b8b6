package policy

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestJitterIsSymmetricAndUniform(t *testing.T) {
	const (
		draws = 100_000
		bins  = 20
	)
	for _, jitter := range []float64{0.1, 0.2, 0.5, 1} {
		step := Step{Delay: 30 * time.Second, Jitter: jitter}
		low := float64(step.Delay) * (1 - jitter)
		width := float64(step.Delay) * 2 * jitter
		random := rand.New(rand.NewPCG(1, 2))
		var sum float64
		var count [bins]int
		for range draws {
			wait := float64(step.wait(random.Float64()))
			share := (wait - low) / width
			if share < 0 || share >= 1 {
				t.Fatalf("jitter %v: a wait of %v lies outside", jitter, time.Duration(wait))
			}
			sum += share
			count[int(share*bins)]++
		}
		// The standard deviation of the mean is 0.0009, that of a bin's count 69.
		if mean := sum / draws; mean < 0.495 || mean > 0.505 {
			t.Errorf("jitter %v: mean at %.4f of the range, want the middle", jitter, mean)
		}
		for i, n := range count {
			if n < draws/bins-350 || n > draws/bins+350 {
				t.Errorf("jitter %v: %d waits in bin %d of %d, want about %d", jitter, n, i, bins, draws/bins)
			}
		}
	}
}

func TestJitterEnds(t *testing.T) {
	tests := []struct {
		name    string
		step    Step
		uniform float64
		want    time.Duration
	}{
		{"shortest", Step{5 * time.Second, 0.2}, 0, 4 * time.Second},
		{"middle", Step{5 * time.Second, 0.2}, 0.5, 5 * time.Second},
		{"longest", Step{5 * time.Second, 0.2}, 1, 6 * time.Second},
		{"none is exact", Step{maxDelay - 1, 0}, 0.999, maxDelay - 1},
		{"whole", Step{5 * time.Second, 1}, 0, 0},
		{"no delay", Step{0, 1}, 0.7, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.step.wait(tt.uniform); got != tt.want {
				t.Errorf("wait %v, want %v", got, tt.want)
			}
		})
	}
}

func TestLeastDelayIsHalfWhereTheBudgetMayShorten(t *testing.T) {
	tests := []struct {
		name             string
		jitter           float64
		budget, lifetime time.Duration
		step             int
		want             time.Duration
	}{
		{"budget within the lifetime", 0.2, time.Hour, 72 * time.Hour, 2, 15 * time.Second},
		{"jitter below half", 0.8, time.Hour, 72 * time.Hour, 2, 6 * time.Second},
		{"budget that outlives every wait", 0.2, time.Hour + 36*time.Second, time.Hour, 2, 24 * time.Second},
		{"budget that just may shorten", 0.2, time.Hour + 36*time.Second - 1, time.Hour, 2, 15 * time.Second},
		{"main", 0.2, time.Hour, 72 * time.Hour, 0, 0},
		{"retired tier", 0.2, time.Hour, 72 * time.Hour, 3, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Schedule{
				Steps:    []Step{{5 * time.Second, tt.jitter}, {30 * time.Second, tt.jitter}},
				Budget:   tt.budget,
				Lifetime: tt.lifetime,
			}
			if got := s.LeastDelay(tt.step); got != tt.want {
				t.Errorf("least delay %v, want %v", got, tt.want)
			}
		})
	}
}

func TestExpired(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		after  time.Duration
		origin time.Time
		want   bool
	}{
		{"younger", time.Minute, now.Add(-time.Minute + 1), false},
		{"as old", time.Minute, now.Add(-time.Minute), true},
		{"older", time.Minute, now.Add(-time.Hour), true},
		{"from the future", time.Minute, now.Add(time.Hour), false},
		{"without a timestamp", time.Minute, time.Time{}, false},
		{"never", 0, now.Add(-1000 * time.Hour), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Expired(Schedule{ExpireAfter: tt.after}, tt.origin, now); got != tt.want {
				t.Errorf("expired %t", got)
			}
		})
	}
}
