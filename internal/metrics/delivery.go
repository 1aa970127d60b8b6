package metrics

import (
	"slices"

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
	delivered prometheus.Counter
	failed    map[delivery]prometheus.Counter // of what the rules give
	of        func(delivery) prometheus.Counter
}

func newDeliveries(failures []delivery, of func(delivery) prometheus.Counter) deliveries {
	d := deliveries{delivered: of(delivery{result: Delivered}), failed: make(map[delivery]prometheus.Counter), of: of}
	for _, failure := range failures {
		for _, result := range []Result{Failed, Held} {
			failure.result = result
			d.failed[failure] = of(failure)
		}
	}
	return d
}

// inc counts a POST. What no rule gives counts as other.
func (d deliveries) inc(v delivery) {
	if v.result == Delivered {
		d.delivered.Inc()
		return
	}
	if counter, ok := d.failed[v]; ok {
		counter.Inc()
		return
	}
	d.of(delivery{v.result, other, other}).Inc()
}

// failures returns each class with the kinds of failure that a relay with these rules
// may put into it. What an endpoint can say by itself, the default table gives too.
func failures(rules []policy.Rule) []delivery {
	var all []delivery
	for _, r := range append(policy.DefaultRules(), rules...) {
		class := r.Verdict("").Class
		if class == policy.ClassNone {
			continue
		}
		for _, kind := range kindsOf(r) {
			if d := (delivery{class: class, kind: kind}); !slices.Contains(all, d) {
				all = append(all, d)
			}
		}
	}
	return all
}

// kindsOf returns the kinds of failure that a rule is about. What no other rule of the
// default table names is left to its last one.
func kindsOf(r policy.Rule) []policy.Kind {
	switch {
	case r.Unconditional():
		return []policy.Kind{policy.KindProtocol, policy.KindStatus}
	case len(r.Error) > 0:
		return r.Error
	}
	return []policy.Kind{policy.KindStatus}
}
