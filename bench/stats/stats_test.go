package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func upTo(n int) []float64 {
	var all []float64
	for i := n; i > 0; i-- {
		all = append(all, float64(i))
	}
	return all
}

// The coverages are those of tables of the sign test's interval.
func TestSummarizeLiesBetweenOrderStatistics(t *testing.T) {
	tests := []struct {
		name    string
		samples []float64
		want    Summary
	}{
		{"one", upTo(1), Summary{Median: 1, Low: 1, High: 1, Coverage: 0, Samples: 1}},
		{"two", upTo(2), Summary{Median: 1.5, Low: 1, High: 2, Coverage: 0.5, Samples: 2}},
		{"five have less than 95 %", upTo(5), Summary{Median: 3, Low: 1, High: 5, Coverage: 0.9375, Samples: 5}},
		{"six", upTo(6), Summary{Median: 3.5, Low: 1, High: 6, Coverage: 0.96875, Samples: 6}},
		{"ten leave out one at each end", upTo(10), Summary{Median: 5.5, Low: 2, High: 9, Coverage: 0.9785, Samples: 10}},
		{"twenty", upTo(20), Summary{Median: 10.5, Low: 6, High: 15, Coverage: 0.9586, Samples: 20}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Summarize(tt.samples)
			got.Coverage = math.Round(got.Coverage*1e5) / 1e5
			near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-4 })
			if diff := cmp.Diff(tt.want, got, near); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRatiosArePairByPair(t *testing.T) {
	if diff := cmp.Diff([]float64{0.5, 2}, Ratios([]float64{1, 8}, []float64{2, 4})); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
}

func TestQuantileIsANearestRank(t *testing.T) {
	hundred := make([]int64, 100)
	for i := range hundred {
		hundred[i] = int64(i + 1)
	}
	tests := []struct {
		q    float64
		want int64
	}{{0, 1}, {0.5, 50}, {0.99, 99}, {0.991, 100}, {1, 100}}
	for _, tt := range tests {
		if got := Quantile(hundred, tt.q); got != tt.want {
			t.Errorf("quantile %v is %d, want %d", tt.q, got, tt.want)
		}
	}
	if got := Quantile([]int64(nil), 0.5); got != 0 {
		t.Errorf("quantile of nothing is %d, want 0", got)
	}
}
