package app

import (
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/retryd/retryd/internal/status"
)

// logWriter passes log lines on, and makes it known while that fails: a full disk
// stops no delivery, and whoever misses lines is told why there are none. zap writes
// one line at a time.
type logWriter struct {
	to      io.Writer
	failed  func() // counts a line that was lost
	trouble *trouble
}

// Write never returns an error. zap would report one to this very writer, so that it
// counted twice.
func (w *logWriter) Write(line []byte) (int, error) {
	if _, err := w.to.Write(line); err != nil {
		w.failed()
		w.trouble.set(causeLog, status.Problem{Text: "log cannot be written: " + plain(err), Since: time.Now()})
		return len(line), nil
	}
	w.trouble.clear(causeLog)
	return len(line), nil
}

// plain leaves out the name of the file, which is that of a stream.
func plain(err error) string {
	if path := new(fs.PathError); errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}
