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
			fmt.Fprintln(w, acl.Command(servers, o.principal))
		}
	})
}
