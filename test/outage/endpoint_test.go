package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEndpointCanBeSwitched(t *testing.T) {
	e, err := startEndpoint()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	}()
	e.poison = func(id string) bool { return id == "poison" }
	post := func(id string, patience time.Duration) (int, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url(recordsPath), strings.NewReader("{}"))
		if err != nil {
			return 0, err
		}
		r.Header.Set("Idempotency-Key", id)
		r.Header.Set("Retryd-Attempt", "2")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	const patient, impatient = time.Minute, 20 * time.Millisecond
	status := func(m mode, id string, want int) {
		t.Helper()
		if _, err := e.become(m); err != nil {
			t.Fatal(err)
		}
		if got, err := post(id, patient); err != nil || got != want {
			t.Errorf("mode %d, %s: status %d, %v, want %d", m, id, got, err, want)
		}
	}
	status(http.StatusOK, "a", http.StatusOK)
	status(http.StatusOK, "poison", http.StatusInternalServerError)
	if _, err := e.become(refused); err != nil {
		t.Fatal(err)
	}
	if _, err := post("a", patient); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v, want a refused connection", err)
	}
	status(http.StatusServiceUnavailable, "a", http.StatusServiceUnavailable)
	if _, err := e.become(hanging); err != nil {
		t.Fatal(err)
	}
	if _, err := post("hung", impatient); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want no answer", err)
	}
	status(http.StatusOK, "a", http.StatusOK)
	calls, _ := e.log()
	if len(calls) != 5 || calls[0].attempt != 2 || calls[2].mode != http.StatusServiceUnavailable {
		t.Errorf("log %+v", calls)
	}
	if e.delivered() != 1 {
		t.Errorf("%d different records were accepted, want 1", e.delivered())
	}
}
