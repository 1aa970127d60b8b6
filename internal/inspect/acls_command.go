package inspect

import "strings"

// Command returns the command line that grants an ACL to a principal, given as
// TYPE:NAME. servers are Kafka's addresses, joined by commas.
func (a ACL) Command(servers, principal string) string {
	words := []string{
		"kafka-acls.sh", "--bootstrap-server", servers, "--add", "--allow-principal", principal,
		"--" + string(a.Resource), a.Name,
	}
	if a.Pattern != Literal { // which is the default
		words = append(words, "--resource-pattern-type", string(a.Pattern))
	}
	for _, operation := range a.Operations {
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
