package tier

import (
	"strings"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/logging"
)

// kind is what a trouble keeps from working. The order is that in which troubles are
// shown.
type kind int

const (
	kindTopics   kind = iota // the topics do not stand, or where main starts
	kindMember               // no member of a group
	kindRead                 // a partition cannot be read
	kindCommit               // a group's offsets cannot be committed
	kindWrite                // a topic does not take the records that have to go there
	kindAwait                // the control topic was not read yet: nothing is delivered
	kindEndpoint             // the endpoint gives no answer
	kindPause                // delivery pauses
	kindAge                  // the main topic may delete records before they are delivered
	kindControl              // the control topic is not read any more
	kindOdd                  // the control topic is read, but something is wrong with it
)

// blocking reports whether a relay with such a trouble is not ready.
func (k kind) blocking() bool { return k < kindEndpoint }

// began and ended are the log lines of a trouble's beginning and end.
func (k kind) began() string { return k.lines()[0] }
func (k kind) ended() string { return k.lines()[1] }

func (k kind) lines() [2]string {
	switch k {
	case kindTopics:
		return [2]string{"relay is not ready", "topics of the relay are in order again"}
	case kindMember:
		return [2]string{"not a member of the group: this instance delivers none of its records", "member of the group again"}
	case kindRead:
		return [2]string{"cannot read a partition", "partition is read again"}
	case kindCommit:
		return [2]string{"cannot commit: delivery stops until it succeeds, when the last commit is half of kafka.session_timeout old", "commits succeed again"}
	case kindWrite:
		return [2]string{"cannot write a record to its next topic: it is held and written again each second, none is lost", "topic takes records again"}
	case kindEndpoint:
		return [2]string{"endpoint gives no answer: its records use up their attempts", "endpoint answers again"}
	case kindAwait:
		return [2]string{"control topic cannot be read: nothing is delivered before it was", "control topic was read"}
	case kindControl:
		return [2]string{"control topic cannot be read: a pause or a resume elsewhere is not noticed", "control topic is read again"}
	case kindOdd:
		return [2]string{"control topic is not in order: what it says is read all the same", "control topic is in order again"}
	case kindAge:
		return [2]string{"main topic is about to delete records that are not delivered", "main topic keeps its records for long enough again"}
	default:
		return [2]string{"delivery pauses, no attempt is spent", "delivery goes on again"}
	}
}

// text says what is wrong with what.
func (k kind) text(of, why string) string {
	switch k {
	case kindMember:
		return "is not a member of " + of + ": " + why
	case kindRead:
		return "cannot read " + of + ": " + why
	case kindCommit:
		return "cannot commit for group " + of + ": " + why
	case kindWrite:
		return "cannot write to topic " + of + ", its records are held: " + why
	case kindAwait:
		return "delivers nothing before topic " + of + " was read, which says what is paused: " + why
	case kindControl:
		return "does not notice a pause or a resume elsewhere, which topic " + of + " would tell: " + why
	case kindOdd:
		return "control topic is not in order: " + why
	default:
		return why
	}
}

// fields name what a trouble is about.
func (k kind) fields(of string) []zap.Field {
	switch k {
	case kindMember, kindCommit:
		return []zap.Field{zap.String(logging.FieldGroup, of)}
	case kindEndpoint, kindPause:
		return []zap.Field{zap.String("endpoint", of)}
	case kindRead:
		topic, partition, _ := strings.Cut(of, "/")
		return []zap.Field{zap.String(logging.FieldTopic, topic), zap.String(logging.FieldPartition, partition)}
	default:
		return []zap.Field{zap.String(logging.FieldTopic, of)}
	}
}

// limited is what the log lines of a trouble are limited by: the partitions of a topic
// share theirs.
func (k kind) limited(of string) string {
	if k == kindRead {
		of, _, _ = strings.Cut(of, "/") // which no topic's name has
	}
	return of
}
