package logging

// layout is what the console shows of one verb. JSON carries every field.
type layout struct {
	topic   string // field of the topic column
	columns []column
}

// column is one field behind the topic. It is left out when the line has no such
// field, or when it would say nothing new.
type column struct {
	field string
	label string    // what stands before the value
	hide  condition // when it says nothing new; the zero value is never
}

// condition is that a field of the line has a text.
type condition struct{ field, text string }

func (c condition) holds(values []value) bool {
	text, ok := find(values, c.field)
	return ok && text == c.text
}

// layoutOf returns the layout of a verb; other messages have none.
func layoutOf(message string) (layout, bool) {
	partition := column{field: FieldPartition, label: "part=", hide: condition{FieldPartition, "0"}}
	attempt := column{field: FieldAttempt, label: "attempt="}
	status := column{field: FieldStatus, label: "status=", hide: condition{FieldStatus, "0"}}
	read := func(columns ...column) (layout, bool) {
		offset := column{field: FieldOffset, label: "off="}
		return layout{FieldTopic, append([]column{offset, partition}, columns...)}, true
	}
	switch message {
	case Attempt:
		answered := condition{FieldErrorKind, "status"} // then the status says it all
		return read(attempt, status,
			column{field: FieldErrorKind, label: "error=", hide: answered},
			column{field: FieldClass, label: "class="},
			column{field: FieldError, label: "cause=", hide: answered},
			column{field: FieldInPlace, label: "in-place="},
			column{field: FieldSpent, label: "spent=", hide: condition{FieldSpent, "true"}})
	case Forward:
		return read(attempt,
			column{field: FieldNext, label: "-> "},
			column{field: FieldDelay, label: "delay="})
	case Repark:
		return read(
			column{field: FieldNext, label: "-> "},
			column{field: FieldReason, label: "reason="},
			column{field: FieldWait, label: "wait="})
	case Hold:
		return read(
			column{field: FieldWait, label: "wait="},
			column{field: FieldNotBefore, label: "not-before="})
	case Deliver:
		return read(attempt, status,
			column{field: FieldDuration, label: "duration="})
	case DeadLetter:
		// Where the record is now, since that is where somebody will look for it.
		return layout{FieldNext, []column{
			{field: FieldDLTOffset, label: "off="},
			partition, attempt,
			{field: FieldKey, label: "key="},
			{field: FieldReason, label: "reason="},
		}}, true
	}
	return layout{}, false
}
