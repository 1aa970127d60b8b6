package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// reapBound is how long a process may take to vanish after SIGKILL.
const reapBound = 10 * time.Second

// Process is a child that does not outlive this process, with both of its output
// streams in one file.
type Process struct {
	cmd  *exec.Cmd
	log  string        // path of the file that holds its output
	done chan struct{} // closed once it has been waited for
	err  error         // of the wait; read after done is closed
}

// StartProcess runs cmd in a process group of its own, so that an interrupt at
// the terminal reaches the tests alone, and appends its output to log. Of its system
// attributes the credential is kept.
func StartProcess(cmd *exec.Cmd, log string) (*Process, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	attributes := childAttributes()
	if cmd.SysProcAttr != nil {
		attributes.Credential = cmd.SysProcAttr.Credential
	}
	cmd.SysProcAttr = attributes

	p := &Process{cmd: cmd, log: log, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// run owns the child from start to wait. It keeps its thread, because the
// parent-death signal of Linux follows the thread that forked, not the process
// (golang/go#27505).
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer close(p.done)
	err := p.cmd.Start()
	started <- err
	if err == nil {
		p.err = p.cmd.Wait()
	}
}

// Running reports whether the process has not been waited for yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// signal sends s; a process that has ended is not an error.
func (p *Process) signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v to %s: %w", s, p.cmd.Path, err)
	}
	return nil
}

// wait returns whether the process ended within bound.
func (p *Process) wait(bound time.Duration) bool {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// Kill ends the process with SIGKILL and waits until it is gone.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	if !p.wait(reapBound) {
		return fmt.Errorf("process %d of %s is still there %v after SIGKILL", p.cmd.Process.Pid, p.cmd.Path, reapBound)
	}
	return nil
}

// Terminate asks the process to stop and waits for at most grace, then kills it.
// It reports whether the process stopped by itself.
func (p *Process) Terminate(grace time.Duration) (bool, error) {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return false, err
	}
	if p.wait(grace) {
		return true, nil
	}
	return false, p.Kill()
}

// Tail returns the last lines of the output, for an error message.
func (p *Process) Tail() string { return tail(p.log) }

func tail(path string) string {
	const lines = 40
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimRight(content, "\n"), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
