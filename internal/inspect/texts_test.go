package inspect

import (
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/retryd/retryd/internal/kafka"
)

func TestTimeThatIsUpIsWhyThereIsNoCluster(t *testing.T) {
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	cfg := kafka.DefaultConfig()
	cfg.Brokers = []string{listenSilently(t)}
	_, err := findCluster(late, cfg)
	if want := "no broker answered within 10s"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestSurveyNamesTheQuestionThatHadNoAnswer(t *testing.T) {
	s := startScene(t, kfake.SeedTopics(1, "loans"))
	cfg := s.load(t, one)
	cluster, err := kafka.Connect(t.Context(), cfg.Kafka)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	s.fake.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		retired := slices.ContainsFunc(r.(*kmsg.MetadataRequest).Topics, func(topic kmsg.MetadataRequestTopic) bool {
			return topic.Topic != nil && *topic.Topic == "loans.retry.3"
		})
		if retired {
			return nil, io.EOF, true // breaks the connection
		}
		return nil, nil, false
	})
	_, err = SurveyTopics(cluster, cfg.Relays[0])
	if err == nil {
		t.Fatal("no error")
	}
	if got, want := Explain(err), "look for retired tiers: describe topics: the broker closed the connection"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What a host trusts is settled once in a process: this test runs in one of its own.
func TestCertificateThatTheHostTrustsIsValid(t *testing.T) {
	const inside = "RETRYD_TEST_TRUSTED"
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	if os.Getenv(inside) == "" {
		trusted := filepath.Join(t.TempDir(), "trusted.pem")
		block := pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
		if err := os.WriteFile(trusted, pem.EncodeToMemory(&block), 0o600); err != nil {
			t.Fatal(err)
		}
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		again.Env = append(os.Environ(), inside+"=1", "SSL_CERT_FILE="+trusted)
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	s := startScene(t, kfake.SeedTopics(1, "loans"))
	s.name(strings.TrimPrefix(server.URL, "https://"), "TRUSTED")
	got := s.connect(t, strings.Replace(one, "http://ENDPOINT", "https://TRUSTED", 1))
	requireLine(t, "ok loans endpoint: https://TRUSTED/loans takes connections, its certificate is valid; nothing was posted", got)
}
