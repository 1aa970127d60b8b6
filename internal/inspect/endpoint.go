package inspect

import (
	"context"
	"errors"
	"strings"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/redact"
	"github.com/retryd/retryd/internal/tier"
)

// lookAtEndpoints returns one finding for each relay. It opens a connection as an
// attempt would, through the proxy and with the certificates that it would use, and
// with the credentials at hand that it would send, and sends no request.
// Relays whose endpoints are paths of one server share the connection.
func lookAtEndpoints(ctx context.Context, relays []tier.Config, version string) []Finding {
	findings := make([]Finding, len(relays))
	var clients []*forward.Client // one for each peer
	index := map[forward.Peer]int{}
	of := map[int]int{} // the client of a relay
	for i, relay := range relays {
		client, err := forward.New(relay.Endpoint, relay.Name, version, redact.Rules{}) // which gets no answer
		if err != nil {
			findings[i] = Finding{Fail, relay.Name, "endpoint", "endpoint." + err.Error() + "; check as the user that runs retryd"}
			continue
		}
		at, known := index[client.Peer()]
		if !known {
			at = len(clients)
			index[client.Peer()] = at
			clients = append(clients, client)
		}
		of[i] = at
	}
	reached := dialAll(ctx, len(clients), func(ctx context.Context, i int) error { return clients[i].Reach(ctx) })
	for i, at := range of {
		findings[i] = endpointFinding(relays[i], reached[at])
	}
	return findings
}

func endpointFinding(relay tier.Config, reached error) Finding {
	shown := forward.WithoutQuery(relay.Endpoint.URL)
	switch {
	case errors.Is(reached, errNoTurn):
		return Finding{Warn, relay.Name, "endpoint", shown + " was " + reached.Error()}
	case reached != nil:
		return Finding{Fail, relay.Name, "endpoint", reached.Error()}
	}
	text := shown + " takes connections"
	if relay.Endpoint.Proxy != "" {
		text += " through endpoint.proxy"
	}
	if strings.HasPrefix(shown, "https:") {
		text += ", its certificate is valid"
	}
	if relay.Endpoint.TLS.CertFile != "" { // with TLS 1.3 a server looks at it after the handshake
		text += " (whether it accepts that of endpoint.tls shows at the first request)"
	}
	return Finding{OK, relay.Name, "endpoint", text + "; nothing was posted"}
}
