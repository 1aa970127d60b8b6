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

// reachAll opens a connection to each address, all at once, and returns what came of
// it in their order.
func reachAll(ctx context.Context, addresses []string) []error {
	errs := make([]error, len(addresses))
	each(len(addresses), func(i int) {
		dialer := net.Dialer{Timeout: dialTimeout}
		opened, err := dialer.DialContext(ctx, "tcp", addresses[i])
		if err == nil {
			err = opened.Close()
		}
		errs[i] = err
	})
	return errs
}

// brokerFindings tells of the configured addresses. One that cannot be reached is
// no failure while others lead to the cluster.
func brokerFindings(addresses []string, reached []error, connected bool) []Finding {
	var findings []Finding
	for i, address := range addresses {
		switch err := reached[i]; {
		case err == nil:
			findings = append(findings, Finding{OK, "", "brokers", address + " takes connections"})
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
		if err != nil {
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
