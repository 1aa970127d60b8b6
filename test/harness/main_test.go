package harness

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
)

var suite = NewSuite(1)

// TestMain lets the test binary play two programs that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "run":
			os.Exit(playDaemon(os.Args[3]))
		case "parent":
			os.Exit(playParent())
		}
	}
	os.Exit(suite.Main(m))
}

// playDaemon is a daemon that is ready at once and stops on SIGTERM. Its exit
// code is what the configuration says.
func playDaemon(file string) int {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	config, err := os.ReadFile(file)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("the daemon reads", filepath.Base(file))
	if regexp.MustCompile(`invalid`).Match(config) {
		return 78
	}
	addr := regexp.MustCompile(`listen: "(.*)"`).FindSubmatch(config)[1]
	listener, err := net.Listen("tcp", string(addr))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL.Path)
	}))
	<-stop.Done()
	return 0
}

// playParent starts a child, prints its process id, and waits to be killed.
func playParent() int {
	child, err := StartProcess(exec.Command("sleep", "1000"), os.DevNull)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(child.cmd.Process.Pid)
	<-child.done
	return 0
}
