package policy

// Classes returns the closed set of failure classes, without ClassNone.
func Classes() []Class {
	return []Class{ClassTransient, ClassThrottled, ClassInvalid, ClassConflict, ClassUnknown, ClassEndpoint}
}

// Kinds returns the closed set of failure kinds, without KindNone.
func Kinds() []Kind {
	return []Kind{KindTimeout, KindRefused, KindReset, KindDNS, KindTLS, KindStatus, KindProtocol}
}

// Classify returns the class of an attempt that ended with an HTTP status, or with
// a failure of another kind, whose status (if there was one) does not count.
//
// It takes any 2xx for a success. With a list of accepted statuses the caller asks
// that list first, and takes ClassUnknown for a 2xx that is not on it.
func Classify(status int, kind Kind) Class {
	switch kind {
	case KindNone, KindStatus:
		return classifyStatus(status)
	case KindTimeout, KindRefused, KindReset, KindDNS:
		return ClassTransient
	case KindTLS:
		return ClassEndpoint
	}
	return ClassUnknown
}

// classifyStatus goes by RFC 9110 section 15, RFC 6585 (429) and RFC 8470 (425).
func classifyStatus(status int) Class {
	switch status {
	case 408, 425, 502, 503, 504:
		return ClassTransient
	case 429:
		return ClassThrottled
	case 409, 412:
		return ClassConflict
	case 401, 403, 404, 405, 407, 415:
		return ClassEndpoint
	}
	switch status / 100 {
	case 2:
		return ClassNone
	case 3:
		return ClassEndpoint
	case 4:
		return ClassInvalid
	}
	return ClassUnknown
}

// VerdictOf returns what the default table says about a class.
func VerdictOf(class Class) Verdict {
	v := Verdict{Class: class, Treatment: TreatLimited}
	switch class {
	case ClassNone:
		v.Treatment = TreatDone
	case ClassTransient:
		v.Treatment = TreatRetry
	case ClassThrottled:
		v.Treatment = TreatThrottle
	case ClassInvalid:
		v.Treatment = TreatDeadLetter
	case ClassConflict:
		v.Treatment = TreatReview
	case ClassEndpoint:
		v.Treatment = TreatHold
	}
	return v
}
