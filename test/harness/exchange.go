package harness

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"time"
)

// Plan decides what the endpoint answers to a request. It is called concurrently.
type Plan func(Request) Answer

// Request is one request as the endpoint saw it. What a header does not say, or
// says in a form that cannot be read, is the zero value, or -1 for a number.
type Request struct {
	Arrived   time.Time // when the request's head had arrived
	Method    string
	Path      string
	EventID   string // Idempotency-Key
	Attempt   int    // Retryd-Attempt, 1-based
	Topic     string // Retryd-Topic, the origin's
	Partition int32  // Retryd-Partition
	Offset    int64  // Retryd-Offset
	Key       []byte // Retryd-Key, decoded
	Header    http.Header
	Body      []byte
}

func newRequest(arrived time.Time, r *http.Request, body []byte) Request {
	return Request{
		Arrived:   arrived,
		Method:    r.Method,
		Path:      r.URL.Path,
		EventID:   r.Header.Get("Idempotency-Key"),
		Attempt:   int(number(r.Header, "Retryd-Attempt", 32)),
		Topic:     r.Header.Get("Retryd-Topic"),
		Partition: int32(number(r.Header, "Retryd-Partition", 32)),
		Offset:    number(r.Header, "Retryd-Offset", 64),
		Key:       recordKey(r.Header),
		Header:    r.Header,
		Body:      body,
	}
}

func number(h http.Header, name string, bits int) int64 {
	n, err := strconv.ParseInt(h.Get(name), 10, bits)
	if err != nil {
		return -1
	}
	return n
}

func recordKey(h http.Header) []byte {
	key := h.Get("Retryd-Key")
	if h.Get("Retryd-Key-Encoding") != "base64" {
		return []byte(key)
	}
	decoded, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil
	}
	return decoded
}

// Answer is what the endpoint does with a request.
type Answer struct {
	Status int // 0 is 200, but with CloseConnection or Garbage it is nothing
	Header http.Header
	Body   string

	Delay time.Duration // before anything is answered
	Hang  bool          // answer nothing until the client leaves or the endpoint goes down

	// CloseConnection drops the connection instead of answering. With a Status of
	// 2xx the record is accepted and the answer is lost.
	CloseConnection bool

	// Garbage is written as it is instead of a response, before the connection is
	// closed.
	Garbage []byte
}

// accepts reports whether the endpoint did the work that the request asks for.
func (a Answer) accepts() bool {
	return !a.Hang && a.status() >= 200 && a.status() < 300
}

func (a Answer) status() int {
	if a.Status == 0 && !a.CloseConnection && a.Garbage == nil {
		return http.StatusOK
	}
	return a.Status
}

func (a Answer) write(w http.ResponseWriter) {
	if a.CloseConnection || a.Garbage != nil {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			connection.Write(a.Garbage) // the client may have left; it is told nothing either way
			connection.Close()
		}
		return
	}
	header := w.Header()
	for name, values := range a.Header {
		header[name] = values
	}
	w.WriteHeader(a.status())
	w.Write([]byte(a.Body)) // the client may have left
}

// Call is a request and what it was answered. Answered is zero for one that has
// not been answered: still waiting, hanging, or left by its client.
type Call struct {
	Request
	Answer   Answer
	Answered time.Time
}
