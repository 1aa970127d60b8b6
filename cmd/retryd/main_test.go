package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/retryd/retryd/internal/app"
	"github.com/retryd/retryd/internal/config"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The clients by which tests write records count what they do.
		goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

const goodFile = `
relays:
  - topic: library.loan.overdue
    endpoint: {url: "http://127.0.0.1:8080/"}
    tiers: [5s]
`

// output is what one command line did.
type output struct {
	Code           int
	Stdout, Stderr string
}

// execute runs a command line with serve as the daemon, which may be nil if it
// must not be reached.
func execute(t *testing.T, serve func(context.Context, *config.Config, app.Options) error, signals <-chan os.Signal, args ...string) output {
	t.Helper()
	if serve == nil {
		serve = func(context.Context, *config.Config, app.Options) error {
			t.Error("the daemon was started")
			return nil
		}
	}
	var stdout, stderr bytes.Buffer
	p := program{
		stdout:  &stdout,
		stderr:  &stderr,
		user:    func() string { return "tester" },
		signals: func() <-chan os.Signal { return signals },
		serve:   serve,
	}
	code := p.run(args)
	return output{code, stdout.String(), stderr.String()}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "retryd.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCommandLine(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want output
	}{
		{"no command", nil, output{
			Code:   1,
			Stderr: "retryd: a command is missing\nSee \"retryd --help\".\n",
		}},
		{"unknown command", []string{"start"}, output{
			Code:   1,
			Stderr: "retryd: unknown command \"start\" for \"retryd\"\nSee \"retryd --help\".\n",
		}},
		{"misspelt command", []string{"topic"}, output{
			Code:   1,
			Stderr: "retryd: unknown command \"topic\" for \"retryd\"\n\nDid you mean this?\n\ttopics\nSee \"retryd --help\".\n",
		}},
		{"unknown flag", []string{"run", "--conf", "x"}, output{
			Code:   1,
			Stderr: "retryd: unknown flag: --conf\nSee \"retryd run --help\".\n",
		}},
		{"no file named", []string{"run"}, output{
			Code:   1,
			Stderr: "retryd: --config is missing: name the YAML file\nSee \"retryd run --help\".\n",
		}},
		{"file without its flag", []string{"run", "retryd.yaml"}, output{
			Code:   1,
			Stderr: "retryd: unexpected argument \"retryd.yaml\": is the flag before it missing?\nSee \"retryd run --help\".\n",
		}},
		{"help of no command", []string{"help", "topic"}, output{
			Code:   1,
			Stderr: "retryd: unknown command \"topic\" for \"retryd\"\n\nDid you mean this?\n\ttopics\nSee \"retryd help --help\".\n",
		}},
		{"help of no command below one", []string{"help", "completion", "ksh"}, output{
			Code:   1,
			Stderr: "retryd: \"retryd completion\" has no command \"ksh\"\nSee \"retryd help --help\".\n",
		}},
		{"no shell", []string{"completion"}, output{
			Code:   1,
			Stderr: "retryd: a shell is missing: bash, fish, powershell or zsh\nSee \"retryd completion --help\".\n",
		}},
		{"no such shell", []string{"completion", "ksh"}, output{
			Code:   1,
			Stderr: "retryd: unknown command \"ksh\" for \"retryd completion\"\nSee \"retryd completion --help\".\n",
		}},
		{"an empty address", []string{"status", "-a", ""}, output{
			Code:   1,
			Stderr: "retryd: invalid argument \"\" for \"-a, --address\" flag: it must not be empty\nSee \"retryd status --help\".\n",
		}},
		{"an empty file name", []string{"healthcheck", "--config="}, output{
			Code:   1,
			Stderr: "retryd: invalid argument \"\" for \"-c, --config\" flag: it must not be empty\nSee \"retryd healthcheck --help\".\n",
		}},
		{"an address and a file that has one", []string{"status", "-a", "127.0.0.1:9464", "-c", "retryd.yaml"}, output{
			Code:   1,
			Stderr: "retryd: give either --address or --config\nSee \"retryd status --help\".\n",
		}},
		{"no such file", []string{"run", "--config", "nowhere.yaml"}, output{
			Code:   78,
			Stderr: "nowhere.yaml: cannot be read: no such file or directory\n",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, execute(t, nil, nil, tt.args...)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHelpIsThatOfTheFlag(t *testing.T) {
	for _, command := range [][]string{nil, {"check"}, {"completion", "bash"}} {
		want := execute(t, nil, nil, append(command, "--help")...)
		if diff := cmp.Diff(want, execute(t, nil, nil, append([]string{"help"}, command...)...)); diff != "" || want.Stdout == "" {
			t.Errorf("%v (-flag +command):\n%s", command, diff)
		}
	}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	path := writeFile(t, goodFile)
	for _, args := range [][]string{
		{"--version"}, {"version"}, {"--help"}, {"help", "check"}, {"check", "--help"}, {"completion", "bash"},
		{"check", "--config", path}, {"topics", "--config", path, "--acls"},
	} {
		var stderr bytes.Buffer
		p := program{stdout: full{}, stderr: &stderr}
		if code, want := p.run(args), "retryd: standard output: no space left on device\n"; code != 1 || stderr.String() != want {
			t.Errorf("%v: exit %d, standard error %q, want %q", args, code, &stderr, want)
		}
	}
}

func TestRunPrintsEveryProblemAndStartsNothing(t *testing.T) {
	path := writeFile(t, "relays:\n  - topic: a\n    endpoint: {url: \"http://127.0.0.1/\", timeout: 30}\n    tiers: [5s]\nlog: {level: loud}\n")
	want := output{
		Code: 78,
		Stderr: path + ":3: relays[0].endpoint.timeout: 30 has no unit; write 30s, or use ms, m or h\n" +
			path + ":5: log.level: \"loud\" is no log level, use debug, info, warn or error\n",
	}
	if diff := cmp.Diff(want, execute(t, nil, nil, "run", "--config", path)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestRunHandsOverTheConfiguration(t *testing.T) {
	var got *config.Config
	var options app.Options
	out := execute(t, func(_ context.Context, cfg *config.Config, o app.Options) error {
		got, options = cfg, o
		return nil
	}, nil, "run", "--config", writeFile(t, goodFile))
	if diff := cmp.Diff(output{}, out); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if got == nil || len(got.Relays) != 1 || got.Relays[0].Group != "retryd-library.loan.overdue" {
		t.Errorf("configuration: %+v", got)
	}
	if options.Version != "dev" || options.Log == nil || options.Terminal {
		t.Errorf("options: %+v", options)
	}
}

func TestRunReportsWhatEndedTheDaemon(t *testing.T) {
	out := execute(t, func(context.Context, *config.Config, app.Options) error {
		return errors.New("listen on 127.0.0.1:9464: address already in use")
	}, nil, "run", "--config", writeFile(t, goodFile))
	want := output{Code: 1, Stderr: "retryd: listen on 127.0.0.1:9464: address already in use\n"}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestFirstSignalStopsCleanly(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			signals := make(chan os.Signal, 2)
			out := execute(t, func(ctx context.Context, _ *config.Config, _ app.Options) error {
				signals <- sig
				<-ctx.Done()
				return nil
			}, signals, "run", "--config", writeFile(t, goodFile))
			if diff := cmp.Diff(output{}, out); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecondSignalDoesNotWait(t *testing.T) {
	path := writeFile(t, goodFile)
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		release := make(chan struct{})
		defer close(release)
		out := execute(t, func(ctx context.Context, _ *config.Config, _ app.Options) error {
			signals <- syscall.SIGTERM
			<-ctx.Done()
			time.Sleep(echoTime)
			signals <- syscall.SIGTERM
			<-release // a stop that hangs
			return nil
		}, signals, "run", "--config", path)
		want := output{Code: 1, Stderr: "retryd: a second signal ended it before it had stopped: records in flight are delivered again\n"}
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	})
}

func TestEchoOfTheFirstSignalDoesNotInterruptTheStop(t *testing.T) {
	path := writeFile(t, goodFile)
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		out := execute(t, func(ctx context.Context, _ *config.Config, _ app.Options) error {
			signals <- syscall.SIGTERM
			<-ctx.Done()
			for range 3 { // to the process, to its group, and by a shell in between
				signals <- syscall.SIGTERM
				time.Sleep(echoTime / 4)
			}
			time.Sleep(echoTime)
			return nil
		}, signals, "run", "--config", path)
		if diff := cmp.Diff(output{}, out); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	})
}

func TestVersionNamesGo(t *testing.T) {
	for _, arg := range []string{"version", "--version"} {
		out := execute(t, nil, nil, arg)
		if out.Code != 0 || out.Stderr != "" || !strings.HasPrefix(out.Stdout, "retryd dev, go1.") || strings.Count(out.Stdout, "\n") != 1 {
			t.Errorf("%s: %+v", arg, out)
		}
	}
}

func TestDescribeBuild(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123abcd"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	tests := []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"no build information", nil, "retryd 1.2.3"},
		{"no commit", &debug.BuildInfo{GoVersion: "go1.26.0"}, "retryd 1.2.3, go1.26.0"},
		{"commit", &debug.BuildInfo{GoVersion: "go1.26.0", Settings: []debug.BuildSetting{commit}}, "retryd 1.2.3, go1.26.0, commit 0123abcd"},
		{"changed since", &debug.BuildInfo{GoVersion: "go1.26.0", Settings: []debug.BuildSetting{commit, modified}}, "retryd 1.2.3, go1.26.0, commit 0123abcd with changes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := describeBuild("1.2.3", tt.info); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
