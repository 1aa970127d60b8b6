package forward

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/redact"
)

// signingSecret returns a secret of n bytes that are all b.
func signingSecret(b byte, n int) Secret {
	return Secret(secretPrefix + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, n)))
}

func signing(secrets ...Secret) func(*Config) {
	return func(c *Config) { c.Signing.Secrets = secrets }
}

// received is a request as an endpoint sees it.
type received struct {
	header http.Header
	body   []byte
}

// deliver makes one attempt of a client and returns what came of it.
func deliver(t *testing.T, id string, value []byte, change ...func(*Config)) received {
	t.Helper()
	var got received
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = received{r.Header.Clone(), body}
	}))
	defer server.Close()
	r := smallRequest(value)
	r.State.EventID = id
	if o := newClient(t, server.URL, change...).Attempt(t.Context(), r); !o.Delivered() {
		t.Fatalf("outcome %+v", o)
	}
	return got
}

// verify is what an endpoint does: the specification's own library, with one secret.
func verify(t *testing.T, secret Secret, r received) error {
	t.Helper()
	webhook, err := standardwebhooks.NewWebhook(secret.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return webhook.Verify(r.body, r.header)
}

// anyID returns an id with every character that one may have.
func anyID() string {
	var id []byte
	for c := byte('!'); c <= '~'; c++ {
		id = append(id, c)
	}
	return string(id)
}

func TestEachSecretAloneVerifiesEachRequest(t *testing.T) {
	older, newer, other := signingSecret(1, minKey), signingSecret(0xff, maxKey), signingSecret(3, 32)
	for name, value := range map[string][]byte{
		"text": []byte(`{"loan":17}`), "tombstone": nil, "empty": {}, "bytes": []byte("\x00.\xff\r\n"), "large": make([]byte, 100_000),
	} {
		for _, id := range []string{"id-1", anyID(), "library.loan.overdue/0/42@1700000000123", strings.Repeat("i", 256)} {
			got := deliver(t, id, value, signing(older, newer))
			for _, secret := range []Secret{older, newer} {
				if err := verify(t, secret, got); err != nil {
					t.Errorf("%s, id %s: %v", name, id, err)
				}
			}
			if err := verify(t, other, got); err == nil {
				t.Errorf("%s, id %s: a secret that is not configured verifies", name, id)
			}
			if got.header.Get("webhook-id") != id || got.header.Get("Idempotency-Key") != id {
				t.Errorf("%s: header %v, want id %s", name, got.header, id)
			}
		}
	}
}

func TestWhatIsChangedOnTheWayDoesNotVerify(t *testing.T) {
	secret := signingSecret(1, 32)
	sent := deliver(t, "id-1", []byte("value"), signing(secret))
	now := time.Now().Unix()
	for name, change := range map[string]func(*received){
		"body":  func(r *received) { r.body = []byte("Value") },
		"empty": func(r *received) { r.body = nil },
		"id":    func(r *received) { r.header.Set("webhook-id", "id-2") },
		"time":  func(r *received) { r.header.Set("webhook-timestamp", fmt.Sprint(now+60)) },
	} {
		changed := received{maps.Clone(sent.header), sent.body}
		change(&changed)
		if err := verify(t, secret, changed); err == nil {
			t.Errorf("%s: a changed one verifies", name)
		}
	}
	if err := verify(t, secret, sent); err != nil {
		t.Errorf("unchanged: %v", err)
	}
}

func TestNothingIsSignedWithoutASecret(t *testing.T) {
	for name := range deliver(t, "id-1", []byte("value")).header {
		if strings.HasPrefix(strings.ToLower(name), "webhook-") {
			t.Errorf("%s is sent", name)
		}
	}
}

func TestSignatureIsOfTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stamps []string
		c := pipeClient(t, func(nc net.Conn) {
			for r := bufio.NewReader(nc); ; {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				stamps = append(stamps, req.Header.Get("webhook-timestamp"))
				_, _ = io.WriteString(nc, ok)
			}
		})
		c.signer, _, _ = signerOf(Signing{Secrets: []Secret{signingSecret(1, 32)}})
		first := time.Now()
		post(t, c, nil)
		time.Sleep(90*time.Second + 900*time.Millisecond)
		post(t, c, nil)
		c.Close()
		synctest.Wait()
		if want := []string{fmt.Sprint(first.Unix()), fmt.Sprint(first.Unix() + 90)}; !cmp.Equal(stamps, want) {
			t.Errorf("timestamps %v, want %v", stamps, want)
		}
	})
}

func TestRecordCannotSign(t *testing.T) {
	r := smallRequest(nil)
	for _, name := range []string{"webhook-id", "Webhook-Signature", "webhook_timestamp"} {
		r.Record.Headers = append(r.Record.Headers, record.Header{Key: []byte(name), Value: []byte("forged")})
	}
	for _, change := range []func(*Config){signing(), signing(signingSecret(1, 32))} {
		c := newClient(t, "http://127.0.0.1/", change, func(c *Config) { c.ForwardHeaders = []string{"*"} })
		if got := bytesOf(t, c, r); strings.Contains(got, "forged") {
			t.Errorf("request %q", got)
		}
	}
}

func TestEndpointThatTellsTheSecretIsNotQuoted(t *testing.T) {
	secret := signingSecret(7, 32)
	bare := strings.TrimPrefix(secret.Reveal(), secretPrefix)
	s := serveWire(t, answering(fmt.Sprintf("HTTP/1.1 401 No\r\nX-Version: %s\r\nContent-Length: %d\r\n\r\n%[1]s %[3]s",
		bare, len(bare)+1+len(secret.Reveal()), secret.Reveal())))
	c := newClient(t, s.url, signing(secret), func(c *Config) { c.AppVersionHeader = "X-Version" })
	if got := post(t, c, nil); string(got.Response) != "*** ***" || got.AppVersion != mask {
		t.Errorf("response %q, version %q", got.Response, got.AppVersion)
	}
}

func TestSecretsOfAFile(t *testing.T) {
	one, two := signingSecret(1, 32), signingSecret(2, 32)
	wrong := "must be whsec_ and the base64 of 24 to 64 random bytes"
	tests := []struct {
		name, content string
		keys          int
		want          string // error, behind the path
	}{
		{"one", one.Reveal(), 1, ""},
		{"two lines", one.Reveal() + "\n" + two.Reveal() + "\n", 2, ""},
		{"of Windows", one.Reveal() + "\r\n" + two.Reveal() + "\r\n", 2, ""},
		{"empty", "\n", 0, ": line 1: " + wrong},
		{"a blank line", one.Reveal() + "\n\n" + two.Reveal(), 0, " has 3 lines, must have one secret a line and at most 2"},
		{"second is wrong", one.Reveal() + "\nsecret", 0, ": line 2: " + wrong},
		{"blanks", " " + one.Reveal(), 0, ": line 1: " + wrong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "secrets")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			c := DefaultConfig()
			c.URL, c.Signing.SecretsFile = "http://127.0.0.1/", path
			client, err := New(c, "r", "v", redact.Rules{})
			switch {
			case tt.want == "" && (err != nil || len(client.signer) != tt.keys):
				t.Errorf("%v, want %d keys", err, tt.keys)
			case tt.want != "" && (err == nil || err.Error() != "signing.secrets_file: "+path+tt.want):
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

func FuzzSigningKey(f *testing.F) {
	for _, seed := range []string{signingSecret(1, 32).Reveal(), "whsec_", "whsec_AA==", "secret", signingSecret(1, 65).Reveal(), signingSecret(1, 24).Reveal() + "\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := signingKey(Secret(s))
		if err != nil {
			if s != "" && strings.Contains(err.Error(), s) && len(s) > 20 {
				t.Errorf("%q is quoted: %v", s, err)
			}
			return
		}
		if _, err := standardwebhooks.NewWebhook(s); err != nil || len(key) < minKey || len(key) > maxKey || !isFieldValue(s) {
			t.Errorf("%q is taken: %d bytes, %v", s, len(key), err)
		}
	})
}
