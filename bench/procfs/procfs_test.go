package procfs

import (
	"net"
	"os"
	"testing"
	"time"
)

func TestCPUGrowsWithWork(t *testing.T) {
	before, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if after, err := CPU(os.Getpid()); err != nil || after > before {
			return
		}
	}
	t.Error("a busy minute took no processor time")
}

func TestMemoryIsBelowItsPeak(t *testing.T) {
	resident, peak, err := Memory(os.Getpid())
	if err != nil || resident <= 0 || peak < resident {
		t.Errorf("resident %d, peak %d, error %v", resident, peak, err)
	}
}

func TestConnectionsAreThoseToThePort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for range 2 {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	n, err := Connections(os.Getpid(), listener.Addr().(*net.TCPAddr).Port)
	if n != 2 || err != nil {
		t.Errorf("%d connections, error %v; want 2", n, err)
	}
}
