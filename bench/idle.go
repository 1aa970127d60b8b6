package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/retryd/retryd/bench/procfs"
	"github.com/retryd/retryd/test/harness"
)

const (
	idleRelays = 50
	idleTime   = 30 * time.Second
)

func idle() scenario {
	return scenario{
		name:  "idle",
		title: "fifty relays of three tiers, six partitions each, with nothing to do",
		method: "200 consumer groups in one process. Processor time counts over 30 s, 30 s after all relays are ready; " +
			"memory and connections are those at the end.",
		run: func(b *bench) ([]Row, error) {
			var relays []string
			for i := range idleRelays {
				topic := fmt.Sprintf("idle-%02d", i)
				if err := harness.MakeTopic(b.cluster.Addrs(), topic, partitions, nil); err != nil {
					return nil, err
				}
				relays = append(relays, b.relay(topic, topic, 16, "start: earliest", "tiers: [5s, 30s, 5m]"))
			}
			d, err := b.startDaemon(b.nextRun(), relays...)
			if err != nil {
				return nil, err
			}
			rows, err := b.idles(d)
			_, stopped := d.Process().Terminate(stopGrace)
			return rows, errors.Join(err, stopped)
		},
	}
}

// idles measures a daemon that has nothing to do.
func (b *bench) idles(d *harness.Daemon) ([]Row, error) {
	began := time.Now()
	if err := d.AwaitReady(); err != nil {
		return nil, err
	}
	ready := time.Since(began).Seconds()
	if err := sleep(b.ctx, idleTime); err != nil {
		return nil, err
	}
	pid := d.Process().PID()
	before, err := procfs.CPU(pid)
	if err != nil {
		return nil, err
	}
	if err := sleep(b.ctx, idleTime); err != nil {
		return nil, err
	}
	after, err := procfs.CPU(pid)
	if err != nil {
		return nil, err
	}
	resident, peak, err := procfs.Memory(pid)
	if err != nil {
		return nil, err
	}
	connections, err := b.connections(pid)
	return []Row{
		{Figure: "CPU", Unit: "% of a core", Values: []float64{100 * (after - before).Seconds() / idleTime.Seconds()}, Bar: below(10)},
		{Figure: "resident", Unit: "MB", Values: []float64{megabytes(resident)}, Bar: below(300)},
		{Figure: "peak", Unit: "MB", Values: []float64{megabytes(peak)}},
		{Figure: "connections to the broker", Unit: "", Values: []float64{float64(connections)}},
		{Figure: "start to all ready", Unit: "s", Values: []float64{ready}},
	}, err
}

// connections counts those to the broker.
func (b *bench) connections(pid int) (int, error) {
	_, port, err := net.SplitHostPort(b.cluster.Addrs()[0])
	if err != nil {
		return 0, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return 0, err
	}
	return procfs.Connections(pid, number)
}
