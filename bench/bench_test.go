package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/bench/load"
)

// One small pair on a real Kafka, so that what only runs by hand cannot rot: daemon,
// floors and endpoint start, agree on headers, and end; the JSON is kept.
func TestThroughputOfOneSmallPair(t *testing.T) {
	t.Chdir("..") // programs are built in the root
	dir := t.TempDir()
	var out bytes.Buffer
	err := run(t.Context(), []string{"-scenario", "throughput", "-pairs", "1", "-records", "2000", "-out", dir}, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	results, err := readResults(dir)
	if err != nil || len(results) != 1 || len(results[0].Rows) != 8 {
		t.Fatalf("results %+v, error %v; want one with 8 rows", results, err)
	}
	for _, row := range results[0].Rows {
		if row.Unit == "records/s" && (row.Values[0] <= 0 || row.Floors[0] <= 0) {
			t.Errorf("%s: %v against %v, want more than 0", row.Figure, row.Values, row.Floors)
		}
	}
	if !strings.Contains(out.String(), "throughput, 256 B") {
		t.Errorf("the table lacks a figure:\n%s", out.String())
	}
}

func TestSidesWithOtherHeadersAreNotCompared(t *testing.T) {
	sides := []side{{name: "retryd"}, {name: "floor"}}
	report := func(names ...string) []load.Report { return []load.Report{{Headers: names}} }
	if err := sameHeaders(sides, [][]load.Report{report("Host", "Retryd-Key"), report("Host", "Retryd-Key")}); err != nil {
		t.Error(err)
	}
	if err := sameHeaders(sides, [][]load.Report{report("Host", "Retryd-Key"), report("Host")}); err == nil {
		t.Error("a floor with fewer headers was compared")
	}
}

func TestBarsJudge(t *testing.T) {
	tests := []struct {
		name string
		bar  Bar
		v    float64
		want bool
	}{
		{"none", Bar{}, -1, true},
		{"at least, reached", atLeast(0.85), 0.85, true},
		{"at least, missed", atLeast(0.85), 0.84, false},
		{"at most, reached", atMost(0), 0, true},
		{"at most, missed", atMost(0), 1, false},
		{"below, reached", below(1), 0.99, true},
		{"below, missed", below(1), 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.bar.met(tt.v); got != tt.want {
				t.Errorf("%v of %+v is met: %v, want %v", tt.v, tt.bar, got, tt.want)
			}
		})
	}
}

// sample has a row of each kind.
var sample = Result{
	Scenario: "throughput", Title: "a title", Method: "A method.", Pairs: 2, Records: 1000, Seconds: 61,
	Machine: Machine{CPU: "a processor", Cores: 2, Memory: "8 kB", System: "linux/amd64", Go: "go1", Kafka: "4", Java: "java"},
	Rows: []Row{
		{Figure: "rate", Unit: "records/s", Values: []float64{800, 900}, Floor: "fasthttp", Floors: []float64{1000, 1000}, Bar: atLeast(0.85)},
		{Figure: "resident", Unit: "MB", Values: []float64{12.34}, Bar: atMost(10)},
		{Figure: "peak", Unit: "MB", Values: []float64{1.234}},
	},
}

func TestDocumentShowsEachRow(t *testing.T) {
	text, err := render([]Result{sample})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| rate | records/s | 850 | fasthttp | 1000 | 0.85 | 0.80 to 0.90 (50 %) | 2 | ≥ 0.85 | met |\n",
		"| resident | MB | 12.3 |  |  |  |  | 1 | ≤ 10 | **not met** |\n",
		"| peak | MB | 1.23 |  |  |  |  | 1 |  |  |\n",
		"### throughput: a title\n",
		"The run took 2 minutes.",
		"a processor, 2 cores",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the document lacks %q:\n%s", want, text)
		}
	}
}

func TestDocumentHasPeersBehindTheResults(t *testing.T) {
	peer := sample
	peer.Scenario = "peer-throughput"
	text, err := render([]Result{sample, peer})
	if err != nil {
		t.Fatal(err)
	}
	_, peers, found := strings.Cut(string(text), "\n## Peers\n")
	if !found || !strings.Contains(peers, "\n### peer-throughput: a title\n") || strings.Contains(peers, "\n### throughput") {
		t.Errorf("the section Peers is not there, or has other results:\n%s", text)
	}
	if text, err = render([]Result{sample}); err != nil || strings.Contains(string(text), "## Peers") {
		t.Errorf("there is a section Peers without results, or error %v", err)
	}
}

// A document of peers alone would replace one with all results.
func TestDocumentOfPeersAloneIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	document := filepath.Join(dir, "performance.md")
	peer := sample
	peer.Scenario = "peer-throughput"
	if err := peer.save(dir); err != nil {
		t.Fatal(err)
	}
	if err := writeDocument(dir, document); !errors.Is(err, errPeersAlone) {
		t.Errorf("error %v, want %v", err, errPeersAlone)
	}
	if _, err := os.Stat(document); err == nil {
		t.Error("there is a document")
	}
}

// The document says which versions were measured; the pom decides it.
func TestDocumentNamesTheVersionsOfPeers(t *testing.T) {
	pom, err := os.ReadFile(filepath.Join("peers", "pom.xml"))
	if err != nil {
		t.Fatal(err)
	}
	versions := regexp.MustCompile(`<(?:spring-kafka|parallel-consumer|httpclient5)\.version>(.+)</`).FindAllSubmatch(pom, -1)
	if len(versions) != 3 {
		t.Fatalf("%d versions in the pom, want 3", len(versions))
	}
	for _, v := range versions {
		if !strings.Contains(documentText, " "+string(v[1])) {
			t.Errorf("the document does not name version %s", v[1])
		}
	}
}

func TestSpringIsEarlyBeyondItsClock(t *testing.T) {
	r := load.Report{Late: []time.Duration{-3 * time.Millisecond, -time.Millisecond, -time.Microsecond, 0}}
	if got := early(r); got != 1 {
		t.Errorf("%v early, want 1", got)
	}
}

func TestPeersSendHeadersOfTheirOwn(t *testing.T) {
	sides := []side{{name: "retryd"}, {name: "peer", peer: true}}
	if err := sameHeaders(sides, [][]load.Report{{{Headers: []string{"Retryd-Key"}}}, {{Headers: []string{"Host"}}}}); err != nil {
		t.Error(err)
	}
}

// Results of other programs are documented too, behind the scenarios.
func TestResultsAreReadInTheOrderOfScenarios(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"idle", "a-program", "peer-lateness", "throughput"} {
		r := sample
		r.Scenario = name
		if err := r.save(dir); err != nil {
			t.Fatal(err)
		}
	}
	results, err := readResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, r := range results {
		order = append(order, r.Scenario)
	}
	if diff := cmp.Diff([]string{"throughput", "idle", "peer-lateness", "a-program"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sample.Rows, results[0].Rows); diff != "" {
		t.Errorf("rows (-saved +read):\n%s", diff)
	}
}

func TestDocumentOfNothingIsAnError(t *testing.T) {
	dir := t.TempDir()
	document := filepath.Join(dir, "performance.md")
	if err := writeDocument(dir, document); err == nil {
		t.Error("a document was written without results")
	}
	if _, err := os.Stat(document); err == nil {
		t.Error("there is a document")
	}
}

func TestScenarioThatDoesNotExistNamesTheOthers(t *testing.T) {
	_, err := choose("speed", false)
	if err == nil || !strings.Contains(err.Error(), "throughput, one-partition, escalation") {
		t.Errorf("error %v, want one that names the scenarios", err)
	}
}
