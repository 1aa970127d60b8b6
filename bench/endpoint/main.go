// Command endpoint is the business endpoint of the benchmark: it answers as it is told
// to, and measures when requests arrive. It is a process of its own, so that what it
// costs is nobody else's.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	if err := listen(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "endpoint:", err)
		os.Exit(1)
	}
}

// listen serves until one of the two listeners fails. The benchmark ends the process.
func listen(args []string) error {
	flags := flag.NewFlagSet("endpoint", flag.ContinueOnError)
	records := flags.String("records", "", "host:port that takes records")
	control := flags.String("control", "", "host:port that takes plans and gives reports")
	if err := flags.Parse(args); err != nil {
		return err
	}
	e := newEndpoint()
	failed := make(chan error, 2)
	go func() {
		server := fasthttp.Server{
			Handler:                       e.serve,
			ReadBufferSize:                16 << 10, // a request in one read
			NoDefaultServerHeader:         true,
			DisableHeaderNamesNormalizing: true,
			Logger:                        silent{}, // clients may be killed in the middle of a request
		}
		failed <- server.ListenAndServe(*records)
	}()
	go func() {
		server := http.Server{Addr: *control, Handler: e.control(), ReadHeaderTimeout: time.Second}
		failed <- server.ListenAndServe()
	}()
	return errors.Join(errors.New("a listener ended"), <-failed)
}

type silent struct{}

// Printf implements fasthttp.Logger.
func (silent) Printf(string, ...any) {}
