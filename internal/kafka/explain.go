package kafka

import "strings"

// Explain returns an error's text for people, without what the client library says
// that tells an operator nothing.
func Explain(err error) string {
	return strings.NewReplacer(
		"kafka: client has run out of available brokers to talk to", "no broker answers",
		"kafka: error while consuming ", "",
		"kafka server: ", "",
		"kafka: ", "",
		": use of closed network connection", "",
	).Replace(err.Error())
}
