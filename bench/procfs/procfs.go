// Package procfs reads what Linux says of a process that the benchmark measures.
package procfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc (proc_pid_stat(5)): USER_HZ is 100 wherever Go
// runs on Linux.
const tick = 10 * time.Millisecond

// CPU returns the processor time that a process has used, to 10 ms.
func CPU(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is a name in parentheses, with any byte in it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const utime, stime = 14 - 3, 15 - 3 // the first one left is number 3
	if len(fields) <= stime {
		return 0, fmt.Errorf("read the processor time of process %d: %d fields", pid, len(fields))
	}
	user, err := strconv.ParseInt(fields[utime], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[stime], 10, 64)
	return time.Duration(user+system) * tick, err
}

// Memory returns what a process has in memory, now and at its peak, in bytes.
func Memory(pid int) (resident, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmRSS":
			resident, err = kilobytes(value)
		case "VmHWM":
			peak, err = kilobytes(value)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return resident, peak, nil
}

func kilobytes(value string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
	return n << 10, err
}

// established is a state in /proc/net/tcp.
const established = "01"

// Connections returns how many connections a process has to a port of 127.0.0.1.
func Connections(pid, port int) (int, error) {
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		return 0, err
	}
	own, err := sockets(pid)
	if err != nil {
		return 0, err
	}
	remote := fmt.Sprintf("0100007F:%04X", port)
	n := 0
	for line := range strings.Lines(string(table)) {
		// sl local rem st tx:rx tr:when retrnsmt uid timeout inode
		fields := strings.Fields(line)
		if len(fields) > 9 && fields[2] == remote && fields[3] == established && own["socket:["+fields[9]+"]"] {
			n++
		}
	}
	return n, nil
}

// sockets returns the links of a process's files.
func sockets(pid int) (map[string]bool, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return nil, err
	}
	links := map[string]bool{}
	for _, file := range files {
		if link, err := os.Readlink(file); err == nil { // else it was closed meanwhile
			links[link] = true
		}
	}
	return links, nil
}
