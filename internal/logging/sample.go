package logging

import (
	"time"

	"go.uber.org/zap/zapcore"
)

// A relay whose endpoint is down fails thousands of times a second, and every
// line would say the same. Above sampleFirst lines of one verb in a second only
// every sampleThereafter-th is written; metrics count all of them.
const (
	sampleFirst      = 100
	sampleThereafter = 100
)

// sample thins out the info events of core. Everything else, above all warnings
// and errors, passes untouched.
func sample(core zapcore.Core, dropped func()) zapcore.Core {
	hook := func(_ zapcore.Entry, d zapcore.SamplingDecision) {
		if d&zapcore.LogDropped != 0 {
			dropped()
		}
	}
	return sampled{
		Core:   core,
		events: zapcore.NewSamplerWithOptions(core, time.Second, sampleFirst, sampleThereafter, zapcore.SamplerHook(hook)),
	}
}

// sampled sends info events through events, which is Core behind a sampler.
type sampled struct {
	zapcore.Core
	events zapcore.Core
}

func (s sampled) With(fields []zapcore.Field) zapcore.Core {
	return sampled{Core: s.Core.With(fields), events: s.events.With(fields)}
}

func (s sampled) Check(ent zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if ent.Level == zapcore.InfoLevel {
		switch ent.Message {
		case Attempt, Forward, Repark, DeadLetter:
			return s.events.Check(ent, ce)
		}
	}
	return s.Core.Check(ent, ce)
}
