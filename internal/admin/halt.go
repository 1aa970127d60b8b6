package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/status"
)

const (
	haltTimeout = 10 * time.Second // for Kafka's acknowledgement
	maxOrder    = 4 << 10          // bytes of a request's body
	maxReason   = 256              // bytes; it becomes one line of a status
	byAPI       = "api"            // who asks, where nobody says so
)

// ErrNoRelay says that there is no relay of that name.
var ErrNoRelay = errors.New("no relay has this name")

// Order is who wants a relay paused or resumed, and why: the body of the request, which
// may be left out.
type Order struct {
	Reason string `json:"reason"` // at most 256 bytes
	By     string `json:"by"`     // default api
}

// Halted is the answer to an order.
type Halted struct {
	Relay    string       `json:"relay"`
	Was      *status.Halt `json:"was"`      // before; null: it was not halted
	Halt     *status.Halt `json:"halt"`     // from now on; null: it is not halted
	Endpoint string       `json:"endpoint"` // why it delivers nothing although it is not halted; "" where it does
}

// orders serves what pauses and resumes relays. It is for this host alone, and for no
// browser's page: another origin may not send JSON without being asked first (CORS), to
// which the mux answers no.
func orders(mux *http.ServeMux, s Source, log *zap.Logger) {
	mux.Handle("POST "+relaysPath+"/{name}/pause", thisHostOnly(order(s.Pause, log)))
	mux.Handle("POST "+relaysPath+"/{name}/resume", thisHostOnly(order(s.Resume, log)))
}

// order answers one kind of order.
func order(do func(ctx context.Context, relay string, o Order) (Halted, error), log *zap.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o, code, err := readOrder(r)
		if err != nil {
			answer(w, code, err.Error())
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), haltTimeout)
		defer cancel()
		done, err := do(ctx, r.PathValue("name"), o)
		switch {
		case errors.Is(err, ErrNoRelay):
			answer(w, http.StatusNotFound, status.OneLine(err.Error()))
		case err != nil:
			answer(w, http.StatusServiceUnavailable, status.OneLine(err.Error()))
		default:
			writeJSON(w, done, log)
		}
	})
}

// readOrder returns what the body says, or what is wrong with it.
func readOrder(r *http.Request) (o Order, code int, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != jsonText {
		return o, http.StatusUnsupportedMediaType, errors.New("the Content-Type must be application/json, also without a body")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxOrder+1))
	switch {
	case err != nil:
		return o, http.StatusBadRequest, errors.New("the body could not be read")
	case len(body) > maxOrder:
		return o, http.StatusRequestEntityTooLarge, fmt.Errorf("the body has more than %d KiB", maxOrder>>10)
	}
	if len(body) > 0 {
		decoder := json.NewDecoder(strings.NewReader(string(body)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&o); err != nil || decoder.More() {
			return o, http.StatusBadRequest, errors.New(`the body must be empty or one object of JSON, as {"reason": "maintenance"}`)
		}
	}
	if len(o.Reason) > maxReason {
		return o, http.StatusBadRequest, fmt.Errorf("the reason has %d bytes; it has at most %d", len(o.Reason), maxReason)
	}
	if o.By == "" {
		o.By = byAPI
	}
	return o, 0, nil
}
