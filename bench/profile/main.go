// Command profile is the daemon with a CPU profile of its whole life, which it writes
// beside its configuration, as cpu.prof. It takes the command line of retryd run.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"syscall"

	"github.com/retryd/retryd/internal/app"
	"github.com/retryd/retryd/internal/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/profile:", err)
		os.Exit(1)
	}
}

// run runs the daemon until ctx ends.
func run(ctx context.Context, args []string) (err error) {
	if len(args) != 3 || args[0] != "run" || args[1] != "--config" {
		return errors.New("usage: profile run --config FILE")
	}
	cfg, err := config.Load(args[2], os.Environ())
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(filepath.Dir(args[2]), "cpu.prof"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return app.Run(ctx, cfg, app.Options{Version: "dev", Log: os.Stderr})
}
