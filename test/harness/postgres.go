package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const postgresBound = time.Minute // for each of: laying out the data, starting, stopping

// Postgres is a running PostgreSQL on 127.0.0.1, which lets everybody in as the
// superuser postgres. It has no other state than its own folder.
type Postgres struct {
	dir  string // server (the binaries), data and log
	addr string
	as   *syscall.Credential // nil: as this process
	proc *Process
}

// StartPostgres runs the PostgreSQL that test/postgres/pom.xml names, and stops it at
// the end of the test. Maven fetches it at the first use on a machine.
func StartPostgres(t testing.TB) *Postgres {
	t.Helper()
	p, err := newPostgres()
	if err == nil {
		t.Cleanup(func() {
			if err := p.stop(); err != nil {
				t.Error(err)
			}
		})
		err = p.start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Addr returns where it listens, as host:port.
func (p *Postgres) Addr() string { return p.addr }

// newPostgres makes the folder. The server is a copy: whom it runs as need not be
// allowed to read this repository.
func newPostgres() (*Postgres, error) {
	server, err := postgresServer()
	if err != nil {
		return nil, err
	}
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	addrs, err := FreeAddrs(1)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "retryd-postgres-")
	if err != nil {
		return nil, err
	}
	p := &Postgres{dir: dir, addr: addrs[0], as: as}
	if err := errors.Join(os.CopyFS(p.server(), os.DirFS(server)), p.giveAway()); err != nil {
		return nil, errors.Join(fmt.Errorf("lay out PostgreSQL: %w", err), os.RemoveAll(dir))
	}
	return p, nil
}

// unprivileged returns whom the server runs as if this process is root, which it
// refuses to be: nobody.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, fmt.Errorf("find whom PostgreSQL runs as, other than root: %w", err)
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func (p *Postgres) server() string { return filepath.Join(p.dir, "server") }
func (p *Postgres) log() string    { return filepath.Join(p.dir, "log") }

// giveAway makes the folder and all in it belong to whom the server runs as.
func (p *Postgres) giveAway() error {
	if p.as == nil {
		return nil
	}
	return filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(p.as.Uid), int(p.as.Gid))
	})
}

// command returns one of the server's programs, with an environment of its own.
func (p *Postgres) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	args = append([]string{"-D", filepath.Join(p.dir, "data")}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(p.server(), "bin", program), args...)
	cmd.Dir, cmd.Env = p.dir, []string{"LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	return cmd
}

// start lays out the data and returns once connections are accepted. Nothing survives
// a crash of the machine, which costs most of the time otherwise.
func (p *Postgres) start() error {
	ctx, cancel := context.WithTimeout(context.Background(), postgresBound)
	defer cancel()
	format := p.command(ctx, "initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
	if output, err := format.CombinedOutput(); err != nil {
		return fmt.Errorf("lay out the data of PostgreSQL: %w\n%s", err, output)
	}
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		return err
	}
	server := p.command(context.Background(), "postgres", "-h", host, "-p", port,
		"-c", "unix_socket_directories=", "-c", "dynamic_shared_memory_type=mmap", "-c", "fsync=off")
	if p.proc, err = StartProcess(server, p.log()); err != nil {
		return err
	}
	return poll(pollInterval, postgresBound, "PostgreSQL at "+p.addr, func() (bool, error) {
		if !p.proc.Running() {
			return false, fmt.Errorf("PostgreSQL ended: %v\n%s", p.proc.err, p.proc.Tail())
		}
		return strings.Contains(p.proc.Tail(), "ready to accept connections"), nil
	})
}

// stop has the server end its sessions, waits for it, and removes its folder.
func (p *Postgres) stop() error {
	var err error
	if p.proc != nil {
		if err = p.proc.signal(os.Interrupt); err == nil && !p.proc.wait(postgresBound) {
			err = errors.Join(errors.New("PostgreSQL does not stop"), p.proc.Kill())
		}
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}
