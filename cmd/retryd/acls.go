package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/inspect"
)

// aclsReport is what topics --acls prints as JSON.
type aclsReport struct {
	Principal string        `json:"principal"`
	ACLs      []inspect.ACL `json:"acls"`
}

func (p program) printACLs(cfg *config.Config, o topicsOptions) error {
	if kind, name, _ := strings.Cut(o.principal, ":"); kind == "" || name == "" {
		return usage("--principal is %q: write TYPE:NAME, as in User:retryd", o.principal)
	}
	report := aclsReport{o.principal, inspect.ACLs(cfg)}
	return p.print(*o.output, report, func(w io.Writer) {
		servers := strings.Join(cfg.Kafka.Brokers, ",")
		for _, acl := range report.ACLs {
			fmt.Fprintln(w, aclCommand(servers, o.principal, acl))
		}
	})
}

// aclCommand returns the command line that grants an ACL.
func aclCommand(servers, principal string, acl inspect.ACL) string {
	words := []string{
		"kafka-acls.sh", "--bootstrap-server", servers, "--add", "--allow-principal", principal,
		"--" + string(acl.Resource), acl.Name,
	}
	if acl.Pattern != inspect.Literal { // which is the default
		words = append(words, "--resource-pattern-type", string(acl.Pattern))
	}
	for _, operation := range acl.Operations {
		words = append(words, "--operation", string(operation))
	}
	for i, word := range words {
		words[i] = shellWord(word)
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word in which a shell would see more than text.
func shellWord(word string) string {
	safe := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.,:/=@%+", r)
	}
	if word != "" && strings.TrimFunc(word, safe) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
