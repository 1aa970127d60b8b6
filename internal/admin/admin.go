// Package admin is the HTTP listener for operators, and the client of the commands
// that ask it: health, readiness, metrics and the state of the relays.
//
// It knows neither Kafka nor relays: what it tells and does is handed in as functions.
// It has no user, so it shows no record; what is more than health and numbers it tells
// this host alone, which alone may pause and resume relays.
package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/status"
)

// A request is a few lines and an answer at most some megabytes, so a client that
// needs longer is broken or hostile, but for profiles. The idle time is longer than the usual scrape
// interval of 15 s to 1 min, so that scrapes reuse their connection.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second // headers and body
	writeTimeout      = 30 * time.Second // from the end of the headers
	idleTimeout       = 75 * time.Second
	maxHeaderBytes    = 16 << 10
	shutdownTimeout   = 3 * time.Second // for answers that are being written
)

// Server is the listener. Listen first, then Run.
type Server struct {
	addr  string
	http  *http.Server
	ln    net.Listener // written by Listen, then only read
	crowd *crowd
	log   *zap.Logger
}

// Source is what the process says of itself, and what may be asked of it. All are called
// for each request, concurrently. Status and Stalled must not block; Pause and Resume
// return at the end of their context at the latest, with ErrNoRelay, or an error that says
// why Kafka did not acknowledge it.
type Source struct {
	Status  func() status.Process
	Stalled func() string // what makes no progress any more, for a person; "" if all does

	Pause, Resume func(ctx context.Context, relay string, o Order) (Halted, error)
}

// New returns a server that is not listening yet.
func New(c Config, g prometheus.Gatherer, s Source, log *zap.Logger) *Server {
	visitors := &crowd{}
	return &Server{
		addr:  c.Listen,
		crowd: visitors,
		log:   log,
		http: &http.Server{
			Handler:           visitors.passing(handler(c, g, s, log)),
			ReadHeaderTimeout: readHeaderTimeout,
			ReadTimeout:       readTimeout,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          errorLog(log),
		},
	}
}

// Listen binds the address, so that one that is in use is an error at start and
// not later. Without a configured address it does nothing. Whoever has called
// Listen must call Run, which closes the listener; a context that has ended is
// enough.
func (s *Server) Listen() error {
	if s.addr == "" {
		return nil
	}
	ln, err := net.Listen("tcp", s.addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("admin.listen: %w: stop what listens there, or set another address", err)
	}
	if err != nil {
		return fmt.Errorf("admin.listen: %w", err)
	}
	s.ln = ln
	return nil
}

// Addr is the bound host:port, with the real port where the configured one is 0.
// It is empty when nothing is bound.
func (s *Server) Addr() string {
	if s.ln == nil {
		return ""
	}
	return s.ln.Addr().String()
}

// Run serves until ctx ends, then lets answers in progress finish for at most
// 3 s and cuts the rest off. It returns nil after such a stop, and an error when
// the listener breaks before. Without a configured address it only waits for ctx.
func (s *Server) Run(ctx context.Context) error {
	if s.ln == nil {
		<-ctx.Done()
		return nil
	}
	s.log.Info("admin listener started", zap.String("addr", s.Addr()))
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.crowd.admit(s.ln)) }()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serve admin listener: %w", err), s.http.Close())
	case <-ctx.Done():
	}
	s.shutdown()
	<-served
	return nil
}

// shutdown has its own bound, since the context of Run has ended.
func (s *Server) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err == nil {
		return
	}
	s.log.Warn("admin clients cut off", zap.Duration("after", shutdownTimeout))
	if err := s.http.Close(); err != nil {
		s.log.Warn("close admin listener", zap.Error(err))
	}
}
