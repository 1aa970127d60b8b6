package forward

import (
	"fmt"
	"strings"
)

// escapedForms returns a text as JSON encoders write it within a string, beside as it is:
// they do not agree on what they escape.
func escapedForms(text string) []string {
	forms := []string{text}
	for _, encoder := range []struct{ short, long, format string }{
		{`"\`, ``, ``},                // what RFC 8259 requires, and nothing else
		{`"\/`, ``, ``},               // PHP
		{`"\`, `<>&`, `\u%04x`},       // Go, Rails
		{`"\`, `<>&='`, `\u%04x`},     // Gson
		{`\`, "<>&+\"'`", `\u%04X`},   // .NET
		{`\/`, `<>&"'`, `\u%04X`},     // PHP for HTML
		{`"\/`, "<>&+='`", `\u%04x`},  // any of them
		{`\`, "<>&+='`/\"", `\u%04x`}, // as escapes of one kind, where there is a choice
		{`\`, "<>&+='`/\"", `\u%04X`}, // and in capitals
	} {
		var pairs []string
		for _, c := range encoder.short {
			pairs = append(pairs, string(c), `\`+string(c))
		}
		for _, c := range encoder.long {
			pairs = append(pairs, string(c), fmt.Sprintf(encoder.format, c))
		}
		forms = append(forms, strings.NewReplacer(pairs...).Replace(text))
	}
	return forms
}
