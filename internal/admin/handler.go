package admin

import (
	"bytes"
	"io"
	stdlog "log"
	"net/http"
	"strings"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
)

// Problem is something that a relay or the whole process lacks.
type Problem struct {
	Relay string // empty: it concerns the whole process
	Text  string // what is missing, for a person
}

// maxScrapes bounds how many answers to /metrics are built at a time: each walks
// every series. More than that get a 503.
const maxScrapes = 4

// handler answers GET and HEAD of the three pages; the mux answers 405 to other
// methods and 404 to other paths.
func handler(g prometheus.Gatherer, ready func() (bool, []Problem), log *zap.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "ok\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		ok, problems := ready()
		if !ok {
			answer(w, http.StatusServiceUnavailable, list(problems))
			return
		}
		answer(w, http.StatusOK, "ok\n"+list(problems))
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(g, promhttp.HandlerOpts{
		ErrorLog: errorLog(log),
		// One broken collector must not hide the rest, least of all in an incident.
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	}))
	return mux
}

func answer(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// An error here means that the client left: there is nobody to tell.
	_, _ = io.WriteString(w, text)
}

// errorLog takes what net/http and promhttp have to say, a broken collector or a
// panic with its stack; clients see none of it.
func errorLog(log *zap.Logger) *stdlog.Logger {
	return stdlog.New(errorWriter{log}, "", 0)
}

type errorWriter struct{ log *zap.Logger }

func (w errorWriter) Write(p []byte) (int, error) {
	w.log.Warn("admin listener", zap.ByteString("error", bytes.TrimSpace(p)))
	return len(p), nil
}

// list writes one line per problem, whatever the texts contain.
func list(problems []Problem) string {
	var b strings.Builder
	for _, p := range problems {
		line := p.Text
		if p.Relay != "" {
			line = "relay " + p.Relay + ": " + p.Text
		}
		b.WriteString(strings.Map(oneLine, line) + "\n")
	}
	return b.String()
}

func oneLine(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}
