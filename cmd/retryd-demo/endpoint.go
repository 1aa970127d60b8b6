package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// endpoint is the sample business endpoint: it accepts a loan, unless the record's
// key says that it fails.
type endpoint struct {
	server *http.Server
	addr   string
	served chan error
}

func newEndpoint() (*endpoint, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /loans/overdue", answer)
	e := &endpoint{
		server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second},
		addr:   ln.Addr().String(),
		served: make(chan error, 1),
	}
	go func() { e.served <- e.server.Serve(ln) }()
	return e, nil
}

// answer refuses loan-0 and every tenth loan after it.
func answer(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.Atoi(strings.TrimPrefix(r.Header.Get("Retryd-Key"), "loan-"))
	if err != nil {
		http.Error(w, "the key is no loan", http.StatusUnprocessableEntity)
		return
	}
	if number%10 == 0 {
		http.Error(w, "the loan system is in maintenance", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (e *endpoint) url() string { return "http://" + e.addr + "/loans/overdue" }

func (e *endpoint) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := e.server.Shutdown(ctx)
	if served := <-e.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
