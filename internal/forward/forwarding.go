package forward

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/retryd/retryd/internal/record"
)

// forwarding says which headers of a record are sent on.
type forwarding struct {
	patterns []pattern
	taken    []string // names that the endpoint's configuration sets itself
}

type pattern struct {
	name   string
	prefix bool // name is only the start
}

func newForwarding(patterns, taken []string) forwarding {
	f := forwarding{taken: taken}
	for _, p := range patterns {
		name, prefix := strings.CutSuffix(p, "*")
		f.patterns = append(f.patterns, pattern{name: name, prefix: prefix})
	}
	return f
}

// allows reports whether a record header of this name is sent on. Whatever is
// listed, a record can set no header that is reserved or that carries one of the
// endpoint's credentials.
func (f forwarding) allows(name []byte) bool {
	if !slices.ContainsFunc(f.patterns, func(p pattern) bool { return p.matches(name) }) {
		return false
	}
	taken := slices.ContainsFunc(f.taken, func(t string) bool { return sameName(name, t) })
	return !taken && isToken(name) && !isReserved(name)
}

func (p pattern) matches(name []byte) bool {
	if p.prefix {
		return hasNamePrefix(name, p.name)
	}
	return sameName(name, p.name)
}

// add adds the allowed headers, in their order and with their repeats. A null
// value, and one that cannot travel unchanged in a header, is not sent.
func (f forwarding) add(h *fasthttp.RequestHeader, headers []record.Header) {
	for _, rh := range headers {
		if rh.Value == nil || !f.allows(rh.Key) || !isFieldValue(rh.Value) {
			continue
		}
		addForwarded(h, rh.Key, rh.Value)
	}
}

// addForwarded renames the attributes of a CloudEvent: they are ce_id in the Kafka
// binding and ce-id in the HTTP one, and servers drop names with an underscore.
func addForwarded(h *fasthttp.RequestHeader, name, value []byte) {
	var scratch [64]byte
	if hasNamePrefix(name, "ce_") {
		name = append(append(scratch[:0], "ce-"...), name[len("ce_"):]...)
	}
	h.AddBytesKV(name, value)
}
