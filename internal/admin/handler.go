package admin

import (
	"bytes"
	"encoding/json"
	"io"
	stdlog "log"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/status"
)

// maxScrapes bounds how many answers to /metrics are built at a time: each walks
// every series. More than that get a 503.
const maxScrapes = 4

// relaysPath is where the state of the relays is, as JSON.
const relaysPath = "/api/v1/relays"

const (
	plainText = "text/plain; charset=utf-8"
	jsonText  = "application/json"
)

// handler answers GET and HEAD of the pages, and POST of orders; the mux answers 405 to other methods
// and 404 to other paths.
func handler(c Config, g prometheus.Gatherer, s Source, log *zap.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if text := s.Stalled(); text != "" {
			answer(w, http.StatusServiceUnavailable, status.OneLine(text))
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		p := s.Status()
		code, word := http.StatusServiceUnavailable, "not ready"
		if p.Ready {
			code, word = http.StatusOK, "ok"
		}
		answer(w, code, append([]string{word}, p.Lines()...)...)
	})
	mux.Handle("GET "+relaysPath, thisHostOnly(relays(s.Status, log)))
	orders(mux, s, log)
	mux.Handle("GET /metrics", promhttp.HandlerFor(g, promhttp.HandlerOpts{
		ErrorLog: errorLog(log),
		// One broken collector must not hide the rest, least of all in an incident.
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	}))
	if c.Pprof {
		profiles(mux)
	}
	return guarded(newHosts(c), mux)
}

// relays tells the state of the relays to people and programs alike.
func relays(state func() status.Process, log *zap.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, state(), log)
	})
}

func writeJSON(w http.ResponseWriter, value any, log *zap.Logger) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil { // a number that is none
		log.Error("state of the relays has no JSON", zap.Error(err))
		answer(w, http.StatusInternalServerError, "the state of the relays cannot be shown; the log says why")
		return
	}
	w.Header().Set("Content-Type", jsonText)
	_, _ = w.Write(append(text, '\n')) // an error here means that the client left
}

// answer writes lines of text.
func answer(w http.ResponseWriter, code int, lines ...string) {
	w.Header().Set("Content-Type", plainText)
	w.WriteHeader(code)
	// An error here means that the client left: there is nobody to tell.
	_, _ = io.WriteString(w, strings.Join(lines, "\n")+"\n")
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
