// Package logging builds the logger, and names the events and fields that it
// carries.
//
// It does not decide what is worth a line: whoever sees an event logs it, with a
// verb and fields of this package. No payload and no secret belongs in a field.
package logging

import (
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// rfc3339Millis is RFC 3339 with the precision of Kafka's timestamps. Times are
// UTC, as in the headers, so that lines and headers can be compared.
const rfc3339Millis = "2006-01-02T15:04:05.000Z07:00"

// New returns a logger that writes to w, usually os.Stderr; terminal says whether
// a person reads w. Lines are written whole, one at a time, without a buffer, so
// there is nothing to sync at the end.
//
// dropped is called for each line that sampling leaves out, from any goroutine,
// and must not log. The error is that of a Config that Validate refuses.
func New(c Config, w io.Writer, terminal bool, dropped func()) (*zap.Logger, error) {
	if err := errors.Join(c.Validate()...); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	level, err := zapcore.ParseLevel(c.Level)
	if err != nil {
		return nil, fmt.Errorf("log: level: %w", err)
	}
	// The wrapper hides the writer's own Sync, which fails on terminals and pipes.
	out := zapcore.Lock(zapcore.AddSync(struct{ io.Writer }{w}))
	var core zapcore.Core
	if c.Format == "console" || c.Format == "auto" && terminal {
		core = newConsole(out, level)
	} else {
		core = zapcore.NewCore(zapcore.NewJSONEncoder(jsonConfig()), out, level)
	}
	return zap.New(sample(core, dropped), zap.ErrorOutput(out)), nil
}

// jsonConfig writes durations as seconds: one unit for every machine that reads
// them.
func jsonConfig() zapcore.EncoderConfig {
	layout := zapcore.TimeEncoderOfLayout(rfc3339Millis)
	return zapcore.EncoderConfig{
		TimeKey:        "time",
		LevelKey:       "level",
		MessageKey:     "msg",
		LineEnding:     "\n",
		EncodeLevel:    zapcore.LowercaseLevelEncoder,
		EncodeTime:     func(t time.Time, enc zapcore.PrimitiveArrayEncoder) { layout(t.UTC(), enc) },
		EncodeDuration: zapcore.SecondsDurationEncoder,
	}
}
