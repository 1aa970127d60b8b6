package inspect

import (
	"testing"

	"github.com/retryd/retryd/internal/kafka"
)

func TestCommandGrantsAnACL(t *testing.T) {
	tests := []struct {
		name string
		acl  ACL
		want string
	}{
		{
			"literal", ACL{ResourceTopic, "loans", Literal, []kafka.Operation{kafka.Read, kafka.DescribeConfigs}},
			"kafka-acls.sh --bootstrap-server a:9092,b:9092 --add --allow-principal 'User:CN=library loans' --topic loans --operation Read --operation DescribeConfigs",
		},
		{
			"prefixed", ACL{ResourceGroup, "retryd-loans-retry-", Prefixed, []kafka.Operation{kafka.Read}},
			"kafka-acls.sh --bootstrap-server a:9092,b:9092 --add --allow-principal 'User:CN=library loans' --group retryd-loans-retry- --resource-pattern-type prefixed --operation Read",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.acl.Command("a:9092,b:9092", "User:CN=library loans"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestShellWord(t *testing.T) {
	tests := []struct{ word, want string }{
		{"library.loan.overdue-retry_1", "library.loan.overdue-retry_1"},
		{"User:CN=retryd,OU=a", "User:CN=retryd,OU=a"},
		{"a b", "'a b'"},
		{"$HOME", "'$HOME'"},
		{"it's", `'it'\''s'`},
		{"", "''"},
	}
	for _, tt := range tests {
		if got := shellWord(tt.word); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.word, got, tt.want)
		}
	}
}
