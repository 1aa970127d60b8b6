package main

import (
	"fmt"
	"strings"
	"testing"
)

// redactFile is a configuration that hides, with more keys of the endpoint.
func redactFile(t *testing.T, url, endpoint string) string {
	t.Helper()
	return writeFile(t, fmt.Sprintf(`
relays: [{topic: loans, consume: false, endpoint: {url: '%s/', %s}, tiers: [5s, 30s]}]
redact: {headers: [event_id, x-late-ms], json_paths: ['$.card.number']}
`, url, endpoint))
}

func TestSendShowsNothingThatIsHidden(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		e := startEndpoint(t, 422, `{"error":"no","card":{"number":"concealed"}}`)
		out := execute(t, nil, nil, "send", "--config", redactFile(t, e.URL, ""), "--value", `{"card":{"number":"concealed"}}`, "-o", format,
			"--header", "event-id=concealed", "--header", "x-late-ms=concealed", "--header", `x-consumer={"card":{"number":"concealed"}}`)
		sent := <-e.posts
		if got := sent.header.Get("Idempotency-Key"); got != "concealed" || sent.body != `{"card":{"number":"concealed"}}` {
			t.Errorf("the endpoint got the id %q and %s, which are not the record's", got, sent.body)
		}
		if strings.Contains(out.Stdout+out.Stderr, "concealed") || strings.Count(out.Stdout, "[redacted]") != 4 {
			t.Errorf("%s, want four things redacted:\n%s%s", format, out.Stdout, out.Stderr)
		}
	}
}

func TestSendShowsNoAnswerThatIsNotCaptured(t *testing.T) {
	const line = "  response  not shown: endpoint.capture_response is false\n"
	for status, want := range map[int]bool{422: true, 200: false} {
		e := startEndpoint(t, status, "concealed")
		out := execute(t, nil, nil, "send", "--config", redactFile(t, e.URL, "capture_response: false"), "--value", "x")
		if strings.Contains(out.Stdout, "concealed") || strings.Contains(out.Stdout, line) != want {
			t.Errorf("status %d:\n%s", status, out.Stdout)
		}
	}
}
