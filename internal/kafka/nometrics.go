package kafka

import metrics "github.com/rcrowley/go-metrics"

// noMetrics returns a registry that measures nothing. The client library's meters
// and histograms cost time on every request, their names grow with topics and
// brokers, and a process-wide goroutine keeps them; what matters is measured by
// retryd itself. One meter per topic that is read remains, and that goroutine: a
// fetch request's first encoding knows no registry and takes the metrics library's
// default (sarama v1.61.1, fetch_request.go:150 and prep_encoder.go).
func noMetrics() metrics.Registry { return discard{metrics.NewRegistry()} }

type discard struct{ metrics.Registry }

// GetOrRegister returns a metric that does nothing, of the kind that is asked for.
func (d discard) GetOrRegister(name string, kind any) any {
	switch kind.(type) {
	case func() metrics.Meter:
		return metrics.NilMeter{}
	case func() metrics.Histogram:
		return metrics.NilHistogram{}
	case func() metrics.Counter:
		return metrics.NilCounter{}
	}
	return d.Registry.GetOrRegister(name, kind)
}
