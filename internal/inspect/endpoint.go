package inspect

import (
	"context"
	"strings"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/tier"
)

// lookAtEndpoint opens a connection as an attempt would, with the credentials at
// hand that it would send, and sends nothing.
func lookAtEndpoint(ctx context.Context, c tier.Config, version string) []Finding {
	client, err := forward.New(c.Endpoint, c.Name, version)
	if err != nil {
		return []Finding{{Fail, c.Name, "endpoint", "endpoint." + err.Error() + "; check as the user that runs retryd"}}
	}
	defer client.Close()
	if err := client.Reach(ctx); err != nil {
		return []Finding{{Fail, c.Name, "endpoint", err.Error()}}
	}
	text := withoutQuery(c.Endpoint.URL) + " takes connections"
	if strings.HasPrefix(c.Endpoint.URL, "https:") {
		text += ", its certificate is valid"
	}
	return []Finding{{OK, c.Name, "endpoint", text + "; nothing was posted"}}
}
