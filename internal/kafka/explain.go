package kafka

import "strings"

// jargon is what the client library's errors say that tells an operator nothing.
var jargon = strings.NewReplacer(
	"kafka: client has run out of available brokers to talk to", "no broker answers",
	"kafka: error while consuming ", "",
	"kafka server: ", "",
	"kafka: ", "",
	": use of closed network connection", "",
)

// Explain returns an error's text for people.
func Explain(err error) string { return jargon.Replace(err.Error()) }
