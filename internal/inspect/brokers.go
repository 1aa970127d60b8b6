package inspect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/retryd/retryd/internal/kafka"
)

// dialTimeout bounds one attempt to connect to a broker: a firewall that swallows
// packets must not take all the time there is.
const dialTimeout = 5 * time.Second

// reachAll opens a connection to each address and returns what came of it in their
// order.
func reachAll(ctx context.Context, addresses []string) []error {
	return dialAll(ctx, len(addresses), func(ctx context.Context, i int) error {
		dialer := net.Dialer{Timeout: dialTimeout}
		opened, err := dialer.DialContext(ctx, "tcp", addresses[i])
		if err != nil {
			return err
		}
		return opened.Close()
	})
}

// findCluster asks all configured addresses at once and takes the first that
// answers. The client library by itself asks one after the other, in random order,
// and waits 5 s for each that says nothing. An error has what came of each.
func findCluster(ctx context.Context, c kafka.Config) (*kafka.Cluster, error) {
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	asking, found := context.WithCancel(patient)
	defer found()
	clusters := make([]*kafka.Cluster, len(c.Brokers))
	errs := make([]error, len(c.Brokers))
	each(len(c.Brokers), len(c.Brokers), func(i int) {
		one := c
		one.Brokers = c.Brokers[i : i+1]
		if clusters[i], errs[i] = kafka.Connect(asking, one); errs[i] == nil {
			found()
		}
	})
	var first *kafka.Cluster
	for _, cluster := range clusters {
		switch {
		case cluster == nil:
		case first == nil:
			first = cluster
		default:
			_ = cluster.Close() // it was not used
		}
	}
	switch {
	case first != nil:
		return first, nil
	case patient.Err() != nil:
		return nil, fmt.Errorf("no broker answered within %s", patience)
	}
	return nil, errors.Join(errs...)
}

// brokerFindings tells of the configured addresses. One that cannot be reached is
// no failure while others lead to the cluster.
func brokerFindings(addresses []string, reached []error, connected bool) []Finding {
	var findings []Finding
	for i, address := range addresses {
		switch err := reached[i]; {
		case err == nil:
			findings = append(findings, Finding{OK, "", "brokers", address + " takes connections"})
		case errors.Is(err, errNoTurn):
			findings = append(findings, Finding{Warn, "", "brokers", address + " was " + err.Error()})
		case connected:
			findings = append(findings, Finding{Warn, "", "brokers", fmt.Sprintf("%s cannot be reached (%s): retryd finds the cluster through the others only", address, cause(err))})
		default:
			findings = append(findings, Finding{Fail, "", "brokers", fmt.Sprintf("%s cannot be reached (%s): does a broker run there, and is kafka.brokers right?", address, cause(err))})
		}
	}
	return findings
}

// clusterFindings tells of the addresses by which the brokers call themselves, which
// are those that count once the cluster is found.
func clusterFindings(ctx context.Context, brokers []kafka.Broker) []Finding {
	addresses := make([]string, len(brokers))
	names := make([]string, len(brokers))
	for i, b := range brokers {
		addresses[i] = b.Addr
		names[i] = fmt.Sprintf("%d at %s", b.ID, b.Addr)
	}
	var findings []Finding
	for i, err := range reachAll(ctx, addresses) {
		switch {
		case errors.Is(err, errNoTurn):
			findings = append(findings, Finding{Warn, "", "kafka", fmt.Sprintf("broker %s was %s", names[i], err)})
		case err != nil:
			findings = append(findings, Finding{Fail, "", "kafka", fmt.Sprintf(
				"broker %s cannot be reached (%s): it must be reachable from here by its own name; does it run, and is its advertised.listeners right?", names[i], cause(err))})
		}
	}
	if len(findings) == 0 {
		findings = append(findings, Finding{OK, "", "kafka", "the cluster answers; brokers: " + strings.Join(names, ", ")})
	}
	return findings
}

// cause returns why there is no connection, without the addresses that package net
// puts around it.
func cause(err error) string {
	var dns *net.DNSError
	var errno syscall.Errno
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &dns):
		return "name not found: " + dns.Err
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	}
	return err.Error()
}
