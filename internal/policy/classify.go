package policy

// Classes returns the closed set of failure classes, without ClassNone.
func Classes() []Class {
	return []Class{ClassTransient, ClassThrottled, ClassInvalid, ClassConflict, ClassUnknown, ClassEndpoint}
}

// Kinds returns the closed set of failure kinds, without KindNone.
func Kinds() []Kind {
	return []Kind{KindTimeout, KindRefused, KindReset, KindDNS, KindTLS, KindStatus, KindProtocol}
}

// DefaultRules returns the default table: what is done about whatever no rule of a
// relay, and no endpoint.success, is about. It goes by RFC 9110 section 15, RFC 6585
// (429) and RFC 8470 (425). Its last rule matches everything.
func DefaultRules() []Rule {
	return []Rule{
		{Status: []Statuses{"2xx"}, Action: TreatDone},
		{Status: []Statuses{"408", "425", "502", "503", "504"}, Action: TreatRetry},
		{Error: []Kind{KindTimeout, KindRefused, KindReset, KindDNS}, Action: TreatRetry},
		{Status: []Statuses{"429"}, Action: TreatThrottle},
		{Status: []Statuses{"409", "412"}, Action: TreatReview},
		{Status: []Statuses{"401", "403", "407", "3xx"}, Action: TreatHold},
		{Status: []Statuses{"404", "405", "415"}, Action: TreatHold, Doubtful: true},
		{Error: []Kind{KindTLS}, Action: TreatHold},
		{Status: []Statuses{"4xx"}, Action: TreatDeadLetter},
		{Action: TreatLimited}, // 500, 501, an answer that is no HTTP, and the like
	}
}

// Classify returns the class that the default table gives an attempt that ended with an
// HTTP status, or with a failure of another kind, whose status (if there was one) does
// not count.
func Classify(status int, kind Kind) Class {
	table := NewTable(nil, nil)
	if kind == KindNone || kind == KindStatus {
		return table.Answer(status, nil).Class // no rule of it asks for a header
	}
	return table.Failure(kind).Class
}

// VerdictOf returns what the default table says about a class.
func VerdictOf(class Class) Verdict {
	for _, r := range DefaultRules() {
		if v := r.Verdict(""); v.Class == class {
			return v
		}
	}
	return Rule{Action: TreatLimited, Class: class}.Verdict("")
}
