package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/retryd/retryd/internal/policy"
)

// delivery is a POST by what came of it. Class and kind are those of a failure.
type delivery struct {
	result Result
	class  policy.Class
	kind   policy.Kind
}

// deliveries are the series of all POSTs that can be.
type deliveries struct {
	known map[delivery]prometheus.Counter
	of    func(delivery) prometheus.Counter
}

func newDeliveries(of func(delivery) prometheus.Counter) deliveries {
	d := deliveries{known: make(map[delivery]prometheus.Counter), of: of}
	d.known[delivery{result: Delivered}] = of(delivery{result: Delivered})
	for _, failure := range failures() {
		for _, result := range []Result{Failed, Held} {
			failure.result = result
			d.known[failure] = of(failure)
		}
	}
	return d
}

// inc counts a POST. What policy.Classify never gives counts as other.
func (d deliveries) inc(v delivery) {
	if v.result == Delivered {
		v = delivery{result: Delivered}
	}
	if counter, ok := d.known[v]; ok {
		counter.Inc()
		return
	}
	d.of(delivery{v.result, other, other}).Inc()
}

// failures returns each class with the kinds of failure that policy.Classify puts
// into it.
func failures() []delivery {
	var all []delivery
	seen := make(map[delivery]bool)
	add := func(class policy.Class, kind policy.Kind) {
		if d := (delivery{class: class, kind: kind}); class != policy.ClassNone && !seen[d] {
			seen[d], all = true, append(all, d)
		}
	}
	for _, kind := range policy.Kinds() {
		if kind != policy.KindStatus {
			add(policy.Classify(0, kind), kind)
		}
	}
	for status := 100; status <= 599; status++ {
		add(policy.Classify(status, policy.KindStatus), policy.KindStatus)
	}
	return all
}
