package forward

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/retryd/retryd/internal/record"
)

// build writes the request of one attempt. Everything that comes from a record or
// from its headers passes isFieldValue on its way, so that no key, id or topic can
// begin a header of its own.
func (c *Client) build(req *fasthttp.Request, r Request, now time.Time) {
	h := &req.Header
	h.DisableNormalizing() // names go out as they are written here
	h.SetMethod(fasthttp.MethodPost)
	req.SetRequestURI(c.route.target.uri)
	h.SetHost(c.route.target.host)
	h.SetUserAgent(c.agent)
	h.SetContentType(c.contentType)
	if own := contentType(r.Record.Headers); own != nil {
		h.SetContentTypeBytes(own)
	}
	addState(h, r.State)
	c.signer.add(h, r.State.EventID, now, r.Record.Value)
	addRecord(h, r.Record)
	c.forward.add(h, r.Record.Headers)
	for _, f := range c.fixed {
		h.Add(f.name, f.value)
	}
	req.SetBodyRaw(r.Record.Value)
}

// addState adds what retryd knows of the record.
func addState(h *fasthttp.RequestHeader, s *record.State) {
	addText(h, "Idempotency-Key", s.EventID)
	addInt(h, "Retryd-Attempt", int64(s.Attempt)+1)
	addText(h, "Retryd-Topic", s.Origin.Topic)
	addInt(h, "Retryd-Partition", int64(s.Origin.Partition))
	addInt(h, "Retryd-Offset", s.Origin.Offset)
	addTime(h, "Retryd-Timestamp", s.Origin.Timestamp)
	addTime(h, "Retryd-First-Failure-At", s.FirstFailure)
}

// addRecord adds what the record itself says. A null key has no header, an empty
// one an empty header.
func addRecord(h *fasthttp.RequestHeader, r *record.Record) {
	switch {
	case r.Key == nil:
	case isFieldValue(r.Key):
		h.AddBytesV("Retryd-Key", r.Key)
	default:
		h.Add("Retryd-Key", base64.StdEncoding.EncodeToString(r.Key))
		h.Add("Retryd-Key-Encoding", "base64")
	}
	if r.Value == nil {
		h.Add("Retryd-Tombstone", "true")
	}
	if n := replayCount(r.Headers); n > 0 {
		addInt(h, "Retryd-Replay-Count", n)
	}
}

// addText drops a value that cannot travel unchanged. It is the last defence: ids
// and topics were checked where they were read.
func addText(h *fasthttp.RequestHeader, name, value string) {
	if value != "" && isFieldValue(value) {
		h.Add(name, value)
	}
}

func addInt(h *fasthttp.RequestHeader, name string, n int64) {
	var digits [20]byte
	h.AddBytesV(name, strconv.AppendInt(digits[:0], n, 10))
}

// addTime adds milliseconds since the epoch, or nothing for a time that is absent.
func addTime(h *fasthttp.RequestHeader, name string, t time.Time) {
	if !t.IsZero() {
		addInt(h, name, t.UnixMilli())
	}
}

// contentType returns the record's own content type: its last usable header of
// that name, as Kafka's lastHeader takes it, or nil.
func contentType(headers []record.Header) []byte {
	for i := len(headers) - 1; i >= 0; i-- {
		h := headers[i]
		if len(h.Value) > 0 && bytes.EqualFold(h.Key, []byte("content-type")) && isFieldValue(h.Value) {
			return h.Value
		}
	}
	return nil
}

// maxReplays bounds what is believed of x-replay-count.
const maxReplays = 1_000_000

// replayCount returns how often the record was replayed from the dead-letter
// topic, 0 if it never was or its header makes no sense.
func replayCount(headers []record.Header) int64 {
	for _, h := range headers {
		if string(h.Key) != "x-replay-count" {
			continue
		}
		if n, err := strconv.ParseUint(string(h.Value), 10, 31); err == nil && n <= maxReplays {
			return int64(n)
		}
	}
	return 0
}
