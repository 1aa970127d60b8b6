package main

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/admin"
	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/status"
)

// jsonOutputs are the headings of docs/json.md, each with what is printed.
func jsonOutputs() map[string]reflect.Type {
	return map[string]reflect.Type{
		"`retryd status`":        reflect.TypeFor[status.Process](),
		"`retryd check`":         reflect.TypeFor[checked](),
		"`retryd topics`":        reflect.TypeFor[topicsReport](),
		"`retryd topics --acls`": reflect.TypeFor[aclsReport](),
		"`retryd send`":          reflect.TypeFor[sendReport](),
		"Orders":                 reflect.TypeFor[admin.Halted](),
	}
}

// documentedField is a line of a table in docs/json.md.
type documentedField struct{ Path, Type string }

// fieldsOf returns what there is below a path, in the order in which it is printed.
func fieldsOf(path string, t reflect.Type) []documentedField {
	var fields []documentedField
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue // an embedded struct, whose fields are visible, or a field that is not printed
		}
		here := strings.TrimPrefix(path+"."+name, ".")
		fields = append(fields, documentedField{here, typeName(f.Type)})
		switch {
		case f.Type == reflect.TypeFor[time.Time]():
		case f.Type.Kind() == reflect.Struct:
			fields = append(fields, fieldsOf(here, f.Type)...)
		case f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct && f.Type.Elem() != reflect.TypeFor[time.Time]():
			fields = append(fields, fieldsOf(here, f.Type.Elem())...)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			fields = append(fields, fieldsOf(here+"[]", f.Type.Elem())...)
		}
	}
	return fields
}

func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "time"
	case reflect.TypeFor[inspect.Seconds]():
		return "number"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem()) + " or null"
	case reflect.Slice:
		return "list of " + typeName(t.Elem()) + "s"
	case reflect.Struct:
		return "object"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	}
	return "unknown: " + t.String()
}

// jsonSections returns docs/json.md by its headings.
func jsonSections(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		sections[heading] = body
	}
	return sections
}

func TestEveryJSONFieldIsDocumented(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\| [^|]+ \\|$")
	sections := jsonSections(t)
	for heading, printed := range jsonOutputs() {
		var got []documentedField
		for _, m := range row.FindAllStringSubmatch(sections[heading], -1) {
			got = append(got, documentedField{m[1], m[2]})
		}
		if diff := cmp.Diff(fieldsOf("", printed), got); diff != "" {
			t.Errorf("%s (-printed +documented):\n%s", heading, diff)
		}
	}
}

func TestJSONNamesAreAlike(t *testing.T) {
	snake := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	isMeasure := regexp.MustCompile(`_(seconds|share|per_second)$`)
	types := map[string]string{} // of a name, wherever it is
	for heading, printed := range jsonOutputs() {
		for _, f := range fieldsOf("", printed) {
			name := f.Path[strings.LastIndex(f.Path, ".")+1:]
			if !snake.MatchString(name) {
				t.Errorf("%s: %s is not in snake_case", heading, f.Path)
			}
			if isNumber := strings.HasPrefix(f.Type, "number"); isNumber != isMeasure.MatchString(name) {
				t.Errorf("%s: %s is a %s", heading, f.Path, f.Type)
			}
			kind := strings.TrimSuffix(f.Type, " or null")
			if before, ok := types[name]; ok && before != kind && name != "problems" { // those of a daemon have a time
				t.Errorf("%s: %s is a %s here and a %s elsewhere", heading, f.Path, kind, before)
			}
			types[name] = kind
		}
	}
}

func TestEveryJSONValueIsDocumented(t *testing.T) {
	want := map[string][]string{
		"role":       {string(inspect.RoleMain), string(inspect.RoleTier), string(inspect.RolePark), string(inspect.RoleDLT), string(inspect.RoleReview), string(inspect.RoleQuarantine), string(inspect.RoleRetired), string(inspect.RoleControl)},
		"state":      {string(inspect.StateOK), string(inspect.StateMissing), string(inspect.StateHidden), string(inspect.StateGrow), string(inspect.StateProblem), string(status.Paused), string(status.Stopped)},
		"level":      {string(inspect.OK), string(inspect.Warn), string(inspect.Fail)},
		"action":     {string(inspect.ActionDone), string(inspect.ActionForward), string(inspect.ActionDeadLetter), string(inspect.ActionMove), string(inspect.ActionHold)},
		"resource":   {string(inspect.ResourceTopic), string(inspect.ResourceGroup)},
		"pattern":    {string(inspect.Literal), string(inspect.Prefixed)},
		"what":       {"brokers", "kafka", "topics", "access", "groups", "start", "endpoint"},
		"treatment":  {},
		"class":      {},
		"error_kind": {},
		"reason":     {},
	}
	for _, class := range policy.Classes() {
		want["class"] = append(want["class"], string(class))
	}
	for _, treatment := range policy.Treatments() {
		want["treatment"] = append(want["treatment"], string(treatment))
	}
	for _, kind := range policy.Kinds() {
		want["error_kind"] = append(want["error_kind"], string(kind))
	}
	for _, reason := range policy.Reasons() {
		want["reason"] = append(want["reason"], string(reason))
	}
	got := map[string][]string{}
	value := regexp.MustCompile("`([^`]+)`")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*) \\|$").FindAllStringSubmatch(jsonSections(t)["Values"], -1) {
		for _, v := range value.FindAllStringSubmatch(m[2], -1) {
			got[m[1]] = append(got[m[1]], v[1])
			if strings.ContainsAny(v[1], " -") {
				t.Errorf("%s has the value %q", m[1], v[1])
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-code +documented):\n%s", diff)
	}
}
