package main

import (
	"strconv"
	"time"

	"github.com/IBM/sarama"
)

// carried reads what carry wrote: attempts made so far, none on the first topic.
func carried(m *sarama.ConsumerMessage) exchange {
	if len(m.Headers) == 0 {
		x := first(m)
		x.attempt = 0
		return x
	}
	x := exchange{key: m.Key, value: m.Value}
	for _, h := range m.Headers {
		number, _ := strconv.ParseInt(string(h.Value), 10, 64) // 0 of what is no number
		switch string(h.Key) {
		case headerEventID:
			x.eventID = string(h.Value)
		case headerAttempt:
			x.attempt = int(number)
		case headerFirstFailure:
			x.firstFailure = number
		case headerTopic:
			x.topic = string(h.Value)
		case headerPartition:
			x.partition = int32(number)
		case headerOffset:
			x.offset = number
		case headerTimestamp:
			x.timestamp = time.UnixMilli(number)
		}
	}
	return x
}
