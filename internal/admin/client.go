package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/retryd/retryd/internal/status"
)

const (
	getTimeout = 10 * time.Second // for one answer, body included
	maxAnswer  = 16 << 20         // bytes of a body; fifty relays with a thousand partitions each need 1 MiB
	maxQuote   = 300              // bytes of an answer that an error shows
)

// Fetch asks the process that listens at addr, as admin.listen has it, for its
// state. An unspecified host (0.0.0.0, ::, none) stands for loopback. An error says
// what to do. The texts of the process are as foreign as whoever listens there:
// status.OneLine makes them fit for a terminal.
func Fetch(ctx context.Context, addr string) (status.Process, error) {
	target, err := dialable(addr)
	if err != nil {
		return status.Process{}, err
	}
	code, body, err := get(ctx, target, relaysPath)
	if err != nil {
		return status.Process{}, err
	}
	switch code {
	case http.StatusOK:
		return decode(target, body)
	case http.StatusNotFound:
		return status.Process{}, fmt.Errorf("what listens at %s has no %s: it is another program, or an older retryd", target, relaysPath)
	case http.StatusForbidden:
		return status.Process{}, fmt.Errorf("%s tells its state over loopback only: ask 127.0.0.1 on its host, or go through ssh -L; it says: %s", target, quote(body))
	}
	return status.Process{}, fmt.Errorf("%s answers %d %s: %s", target, code, http.StatusText(code), quote(body))
}

// Probe asks the process that listens at addr, as Fetch does, for its /healthz or
// /readyz. The error is nil if the answer is that of a retryd which is well: 200, and a
// first line "ok". Else it is one line that says what was answered instead, cut if that
// is long. A redirect is not followed.
func Probe(ctx context.Context, addr, page string) error {
	target, err := dialable(addr)
	if err != nil {
		return err
	}
	code, body, err := get(ctx, target, page)
	if err != nil {
		return err
	}
	if code != http.StatusOK {
		return fmt.Errorf("%s of %s answers %d: %s", page, target, code, quote(joined(body)))
	}
	if first, _, _ := bytes.Cut(body, []byte("\n")); string(first) != "ok" {
		return fmt.Errorf("what listens at %s is another program: its %s answers 200 without the word ok", target, page)
	}
	return nil
}

// Pause has the process that listens at addr, as Fetch does, pause a relay on all
// instances, and Resume has it resume one. An error says what to do.
func Pause(ctx context.Context, addr, relay string, o Order) (Halted, error) {
	return give(ctx, addr, relay, "pause", o)
}

// Resume is as Pause.
func Resume(ctx context.Context, addr, relay string, o Order) (Halted, error) {
	return give(ctx, addr, relay, "resume", o)
}

func give(ctx context.Context, addr, relay, verb string, o Order) (Halted, error) {
	target, err := dialable(addr)
	if err != nil {
		return Halted{}, err
	}
	body, err := json.Marshal(o)
	if err != nil {
		return Halted{}, fmt.Errorf("write JSON: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, haltTimeout+getTimeout)
	defer cancel()
	path := relaysPath + "/" + url.PathEscape(relay) + "/" + verb
	code, text, err := call(ctx, target, http.MethodPost, path, body)
	switch {
	case err != nil:
		return Halted{}, err
	case code == http.StatusForbidden:
		return Halted{}, fmt.Errorf("%s takes orders over loopback only: ask 127.0.0.1 on its host, or go through ssh -L; it says: %s", target, quote(text))
	case code != http.StatusOK:
		return Halted{}, fmt.Errorf("%s answers %d %s: %s", target, code, http.StatusText(code), quote(text))
	}
	var done Halted
	if err := json.Unmarshal(text, &done); err != nil || done.Relay != relay {
		return Halted{}, fmt.Errorf("what listens at %s is another program: its %s does not tell what became of relay %s", target, path, relay)
	}
	return done, nil
}

// joined puts lines on one.
func joined(text []byte) []byte {
	var lines [][]byte
	for line := range bytes.Lines(bytes.TrimSpace(text)) {
		lines = append(lines, bytes.TrimSpace(line))
	}
	return bytes.Join(lines, []byte("; "))
}

// dialable turns an address to listen at into one to connect to.
func dialable(addr string) (string, error) {
	if addr == "" {
		return "", errors.New("admin.listen is empty, so retryd listens nowhere: set it, as to 127.0.0.1:9464, and start retryd anew")
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || len((Config{Listen: addr}).Validate()) > 0 {
		return "", fmt.Errorf("%q is no address to ask: say host:port, as in 127.0.0.1:9464", addr)
	}
	if strings.Trim(port, "0") == "" {
		return "", fmt.Errorf("%s stands for any free port: ask the address in retryd's log line \"admin listener started\"", addr)
	}
	switch ip := net.ParseIP(host); {
	case host == "" || ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip.Equal(net.IPv6zero):
		host = "::1"
	}
	return net.JoinHostPort(host, port), nil
}

// get makes one GET.
func get(ctx context.Context, target, path string) (code int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	return call(ctx, target, http.MethodGet, path, nil)
}

// call makes one request. It goes straight to target, whatever proxy the environment
// names, and follows no redirect. path is escaped.
func call(ctx context.Context, target, method, path string, order []byte) (code int, body []byte, err error) {
	host := url.URL{Scheme: "http", Host: target}
	req, err := http.NewRequestWithContext(ctx, method, host.String()+path, bytes.NewReader(order))
	if err != nil {
		return 0, nil, explain(target, err)
	}
	if order != nil {
		req.Header.Set("Content-Type", jsonText)
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, explain(target, err)
	}
	defer func() { _ = res.Body.Close() }() // all that is wanted has been read
	body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return 0, nil, explain(target, err)
	case len(body) > maxAnswer:
		return 0, nil, fmt.Errorf("the answer of %s exceeds %d MiB: is it retryd that listens there?", target, maxAnswer>>20)
	}
	return res.StatusCode, body, nil
}

// explain says what an operator can do about a connection without an answer.
func explain(target string, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // its text repeats the address
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody listens at %s: is retryd running, and is admin.listen the same?", target)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s does not answer in time: does retryd listen there, and does its host have time for it?", target)
	}
	return fmt.Errorf("ask %s, where retryd should listen: %w", target, err)
}

// decode reads the state of a process. Fields that it does not know are of a newer
// version; ones that every version writes must be there.
func decode(target string, body []byte) (status.Process, error) {
	var p status.Process
	if err := json.Unmarshal(body, &p); err != nil {
		return status.Process{}, fmt.Errorf("what listens at %s is another program: its %s is not the state of a retryd: %w", target, relaysPath, err)
	}
	if p.Version == "" || p.Time.IsZero() || p.Relays == nil {
		return status.Process{}, fmt.Errorf("what listens at %s is another program: its %s has no version, time or relays", target, relaysPath)
	}
	return p, nil
}

// quote shows the beginning of an answer.
func quote(body []byte) string {
	body = bytes.TrimSpace(body)
	if len(body) > maxQuote {
		body = append(body[:maxQuote:maxQuote], "..."...)
	}
	return status.OneLine(string(body))
}
