package harness

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// post sends a request of the contract and returns the status, or the error.
func post(e *Endpoint, id, body string, headers ...string) (int, error) {
	request, err := http.NewRequest(http.MethodPost, e.URL("/loans"), strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	if id != "" {
		request.Header.Set("Idempotency-Key", id)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Timeout: testBound, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

func TestEndpointRecordsWhatItWasAsked(t *testing.T) {
	e := StartEndpoint(t, nil)
	before := time.Now()
	status, err := post(e, "loan-7", "body", "Retryd-Attempt", "2", "Retryd-Topic", "loans",
		"Retryd-Partition", "3", "Retryd-Offset", "41", "Retryd-Key", "AAE=", "Retryd-Key-Encoding", "base64")
	if err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
	calls := e.Requests()
	if len(calls) != 1 {
		t.Fatalf("%d requests, want 1", len(calls))
	}
	got := calls[0]
	if got.Arrived.Before(before) || got.Answered.Before(got.Arrived) {
		t.Errorf("sent at %v, arrived at %v, answered at %v", before, got.Arrived, got.Answered)
	}
	got.Arrived, got.Answered, got.Header = time.Time{}, time.Time{}, nil
	want := Call{Answer: Answer{Status: 200}, Request: Request{
		Method: "POST", Path: "/loans", EventID: "loan-7", Attempt: 2, Topic: "loans", Partition: 3, Offset: 41,
		Key: []byte{0, 1}, Body: []byte("body"),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestEndpointReadsAbsentHeadersAsMinusOne(t *testing.T) {
	e := StartEndpoint(t, nil)
	if _, err := post(e, "", "", "Retryd-Offset", "many"); err != nil {
		t.Fatal(err)
	}
	got := e.Requests()[0]
	if got.Attempt != -1 || got.Partition != -1 || got.Offset != -1 {
		t.Errorf("attempt %d, partition %d, offset %d; want -1", got.Attempt, got.Partition, got.Offset)
	}
}

func TestEndpointAnswersAsPlanned(t *testing.T) {
	refused := func(err error) bool { return err != nil }
	answered := func(err error) bool { return err == nil }
	tests := []struct {
		name     string
		answer   Answer
		status   int
		err      func(error) bool
		accepted int
	}{
		{"default is 200", Answer{}, 200, answered, 1},
		{"204", Answer{Status: 204}, 204, answered, 1},
		{"503", Answer{Status: 503, Body: "busy"}, 503, answered, 0},
		{"delayed", Answer{Delay: time.Millisecond}, 200, answered, 1},
		{"closed", Answer{CloseConnection: true}, 0, refused, 0},
		{"accepted, answer lost", Answer{Status: 200, CloseConnection: true}, 0, refused, 1},
		{"garbage", Answer{Garbage: []byte("not HTTP\r\n\r\n")}, 0, refused, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := StartEndpoint(t, func(Request) Answer { return tt.answer })
			status, err := post(e, "id", "body")
			if status != tt.status || !tt.err(err) {
				t.Errorf("status %d, error %v; want %d", status, err, tt.status)
			}
			if requests, accepted := e.Counts(); requests != 1 || accepted != tt.accepted || len(e.Accepted()) != tt.accepted {
				t.Errorf("%d requests, %d accepted; want 1 and %d", requests, accepted, tt.accepted)
			}
		})
	}
}

func TestEndpointSendsHeadersAndBody(t *testing.T) {
	e := StartEndpoint(t, func(Request) Answer {
		return Answer{Status: 429, Header: http.Header{"Retry-After": {"7"}}, Body: "later"}
	})
	response, err := http.Get(e.URL("/"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "later" || response.Header.Get("Retry-After") != "7" {
		t.Errorf("body %q, Retry-After %q, error %v", body, response.Header.Get("Retry-After"), err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestEndpointHangsUntilItGoesDownAndComesBackAtItsPort(t *testing.T) {
	var hang sync.Once
	e := StartEndpoint(t, func(Request) Answer {
		answer := Answer{}
		hang.Do(func() { answer.Hang = true })
		return answer
	})
	hung := make(chan error, 1)
	go func() { _, err := post(e, "hung", ""); hung <- err }()
	WaitFor(t, testBound, "the request", func() bool { return len(e.Requests()) == 1 })
	if err := e.Down(); err != nil {
		t.Fatal(err)
	}
	if err := <-hung; err == nil {
		t.Error("a hanging request was answered")
	}
	if _, err := post(e, "refused", ""); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error %v while the endpoint is down, want refused", err)
	}
	if err := e.Up(); err != nil {
		t.Fatal(err)
	}
	if status, err := post(e, "back", ""); status != 200 || err != nil {
		t.Errorf("status %d, %v after the endpoint came back", status, err)
	}
	if calls := e.Requests(); len(calls) != 2 || !calls[0].Answered.IsZero() || len(e.Accepted()) != 1 {
		t.Errorf("recorded %+v, want a hanging and an accepted request", calls)
	}
}

func TestAnswerIsNotGivenToWhoLeft(t *testing.T) {
	closed, open := make(chan struct{}), make(chan struct{})
	close(closed)
	tests := []struct {
		name       string
		answer     Answer
		left, down <-chan struct{}
		want       bool
	}{
		{"at once", Answer{}, open, open, true},
		{"after a delay", Answer{Delay: time.Nanosecond}, open, open, true},
		{"client left during the delay", Answer{Delay: testBound}, closed, open, false},
		{"endpoint went down during the delay", Answer{Delay: testBound}, open, closed, false},
		{"client left a hanging request", Answer{Hang: true}, closed, open, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := waitBefore(tt.answer, tt.left, tt.down); got != tt.want {
				t.Errorf("answered %v, want %v", got, tt.want)
			}
		})
	}
}

func TestEndpointRecordsManyRequestsAtOnce(t *testing.T) {
	e := StartEndpoint(t, nil)
	const workers, each = 16, 250
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	defer client.CloseIdleConnections()
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for range each {
				response, err := client.Post(e.URL("/"), "", bytes.NewReader([]byte("x")))
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		})
	}
	running.Wait()
	if requests, accepted := e.Counts(); requests != workers*each || accepted != workers*each {
		t.Errorf("%d requests, %d accepted, want %d", requests, accepted, workers*each)
	}
}
