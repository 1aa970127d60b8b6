package metrics

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
)

// series is what docs/metrics.md says of one name.
type series struct{ Type, Labels string }

func TestDocumentationListsEverySeries(t *testing.T) {
	documented, registered := make(map[string]series), make(map[string]series)
	for _, row := range rows(t, 4) {
		if name := strings.Trim(row[0], "`"); strings.HasPrefix(name, "retryd_") {
			documented[name] = series{row[1], sorted(strings.Split(row[2], ", "))}
		}
	}
	for name, f := range families(t) {
		registered[name] = series{strings.ToLower(f.GetType().String()), sorted(slices.Collect(maps.Keys(labelsOf(f))))}
	}
	if diff := cmp.Diff(registered, documented); diff != "" {
		t.Errorf("registered (-) and docs/metrics.md (+) differ:\n%s", diff)
	}
}

func TestDocumentationListsEveryLabelValue(t *testing.T) {
	word := regexp.MustCompile("`([^`]+)`")
	open := []string{"relay", "tier", "target", "attempt", "partition", "version", "goversion"}
	documented := make(map[string]map[string]bool) // by label, or by label and series
	for _, row := range rows(t, 3) {
		label := strings.TrimSpace(row[0] + " " + strings.Trim(row[1], "`"))
		if label == "label series" || label == "--- ---" || slices.Contains(open, label) {
			continue
		}
		documented[label] = make(map[string]bool)
		for _, m := range word.FindAllStringSubmatch(row[2], -1) {
			documented[label][m[1]] = true
		}
	}
	exported := make(map[string]map[string]bool)
	for name, f := range families(t) {
		for label, values := range labelsOf(f) {
			if slices.Contains(open, label) {
				continue
			}
			if _, ok := documented[label+" "+name]; ok {
				label += " " + name
			}
			if exported[label] == nil {
				exported[label] = make(map[string]bool)
			}
			maps.Copy(exported[label], values)
		}
	}
	if diff := cmp.Diff(exported, documented); diff != "" {
		t.Errorf("exported (-) and docs/metrics.md (+) differ:\n%s", diff)
	}
}

func TestDocumentationSpeaksOnlyOfSeriesThatExist(t *testing.T) {
	registered := families(t)
	part := regexp.MustCompile("_(bucket|count|sum)$")
	for _, name := range regexp.MustCompile(`\bretryd_[a-z_]+`).FindAllString(documentation(t), -1) {
		_, whole := registered[name]
		family, ok := registered[part.ReplaceAllString(name, "")]
		if !whole && (!ok || family.GetType() != dto.MetricType_HISTOGRAM) {
			t.Errorf("%s is not registered", name)
		}
	}
}

func TestDocumentationAddsUpEveryGauge(t *testing.T) {
	_, section, _ := strings.Cut(documentation(t), "\n## How to add up\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for name, f := range families(t) {
		if f.GetType() == dto.MetricType_GAUGE && name != "retryd_build_info" && !strings.Contains(section, "`"+name+"`") {
			t.Errorf("nothing is said of %s", name)
		}
	}
}

func sorted(labels []string) string {
	slices.Sort(labels)
	return strings.Join(labels, ", ")
}

// rows returns the cells of the tables of docs/metrics.md with so many columns.
func rows(t *testing.T, columns int) [][]string {
	t.Helper()
	var rows [][]string
	for line := range strings.Lines(documentation(t)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != columns {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func families(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	reg, _, r, tier := oneOfEach()
	r.SetDeadLetterRecords(0)
	r.SetCertificateNotAfter(time.Time{})
	tier.SetPartition(0, Partition{})
	list, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]*dto.MetricFamily)
	for _, f := range list {
		byName[f.GetName()] = f
	}
	return byName
}

// labelsOf returns the values of each label of f.
func labelsOf(f *dto.MetricFamily) map[string]map[string]bool {
	values := make(map[string]map[string]bool)
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if values[l.GetName()] == nil {
				values[l.GetName()] = make(map[string]bool)
			}
			values[l.GetName()][l.GetValue()] = true
		}
	}
	return values
}
