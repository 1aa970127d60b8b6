package main

import (
	"github.com/retryd/retryd/internal/devbroker"
	"github.com/retryd/retryd/test/harness"
)

// broker is where a run's topics are.
type broker struct {
	address string
	stop    func() error
}

// startBroker starts the embedded broker, or an Apache Kafka, for one run alone.
func startBroker(kafka bool) (broker, error) {
	if kafka {
		cluster, err := harness.NewCluster(1)
		if err != nil {
			return broker{}, err
		}
		return broker{cluster.Addrs()[0], cluster.Stop}, nil
	}
	embedded, err := devbroker.Start(devbroker.Options{})
	if err != nil {
		return broker{}, err
	}
	return broker{embedded.Addrs()[0], func() error { embedded.Close(); return nil }}, nil
}
