// Package stats is the benchmark's statistics: medians, their intervals, quantiles.
// It is pure.
package stats

import (
	"math"
	"slices"
)

// confidence is what Interval aims at.
const confidence = 0.95

// Summary is the median of independent samples, and an interval that holds the median
// of what they were drawn from with the probability Coverage, whatever their
// distribution.
type Summary struct {
	Median, Low, High float64
	Coverage          float64
	Samples           int
}

// Summarize returns the summary of at least one sample. The interval lies between two
// order statistics, equally far from both ends (the sign test turned round): the
// narrowest with a coverage of at least 95 %, else, with fewer than six samples, the
// whole range with the coverage that it has.
func Summarize(samples []float64) Summary {
	sorted := slices.Sorted(slices.Values(samples))
	cut := 0
	for 2*(cut+1) < len(sorted) && coverage(len(sorted), cut+1) >= confidence {
		cut++
	}
	return Summary{
		Median: Median(sorted),
		Low:    sorted[cut], High: sorted[len(sorted)-1-cut],
		Coverage: coverage(len(sorted), cut), Samples: len(sorted),
	}
}

// coverage is the probability that the median lies between the samples that are cut
// away from both ends of n: 1 - 2 P(Binomial(n, 1/2) <= cut).
func coverage(n, cut int) float64 {
	tail, ways := 0.0, 1.0
	for k := range cut + 1 {
		tail += ways
		ways = ways * float64(n-k) / float64(k+1)
	}
	return max(0, 1-2*tail/math.Pow(2, float64(n)))
}

// Median returns the middle one of the samples, or the mean of the two in the middle.
// There is at least one.
func Median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// Ratios divides pair by pair.
func Ratios(of, by []float64) []float64 {
	ratios := make([]float64, min(len(of), len(by)))
	for i := range ratios {
		ratios[i] = of[i] / by[i]
	}
	return ratios
}

// Quantile returns the smallest of the sorted values that at least the share q of them
// does not exceed (the nearest rank); 0 of no values.
func Quantile[T ~int64 | float64](sorted []T, q float64) T {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
