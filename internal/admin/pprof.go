package admin

import (
	"fmt"
	"net/http"
	"net/http/pprof" // its init registers on http.DefaultServeMux too, which nothing here serves
	"strconv"
)

const (
	pprofPath = "/debug/pprof/"
	// maxProfile bounds, in seconds, how long a profile may be taken; go tool pprof asks
	// for 30 s.
	maxProfile = 120
)

// profiles answers what go tool pprof asks for, to this host alone.
func profiles(mux *http.ServeMux) {
	mux.Handle("GET "+pprofPath, profile(pprof.Index)) // heap, goroutine and the like too
	mux.Handle("GET "+pprofPath+"cmdline", profile(pprof.Cmdline))
	mux.Handle("GET "+pprofPath+"profile", profile(pprof.Profile))
	mux.Handle("GET "+pprofPath+"symbol", profile(pprof.Symbol))
	mux.Handle("GET "+pprofPath+"trace", profile(pprof.Trace))
}

// profile bounds the parameter seconds, by which the handlers move their deadline.
func profile(next http.HandlerFunc) http.Handler {
	return thisHostOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.Query().Get("seconds")
		if seconds, err := strconv.ParseFloat(asked, 64); asked != "" && (err != nil || seconds > maxProfile) {
			answer(w, http.StatusBadRequest, fmt.Sprintf("seconds must be a number up to %d, not %q", maxProfile, asked))
			return
		}
		next(w, r)
	}))
}
