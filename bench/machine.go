package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/retryd/retryd/test/harness"
)

// Machine is where a scenario ran.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	System string `json:"system"`
	Go     string `json:"go"`
	Kafka  string `json:"kafka"`
	Java   string `json:"java"`
}

func thisMachine() (Machine, error) {
	kafka, java, err := harness.Versions()
	return Machine{
		CPU: field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(),
		Memory: field("/proc/meminfo", "MemTotal"), System: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Kafka: kafka, Java: java,
	}, err
}

// field returns the first value of that name in a file of lines like name : value.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Sprintf("unknown (%v)", err)
	}
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
