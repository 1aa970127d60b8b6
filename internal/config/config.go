// Package config loads the YAML file that describes a whole process, and says
// everything that is wrong with it at once, each problem with its line and key.
//
// It composes the configuration structs of the other packages, whose defaults and
// rules live there; only what concerns several of them is checked here. It
// contacts nothing and opens no other file.
package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/retryd/retryd/internal/admin"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/redact"
	"github.com/retryd/retryd/internal/tier"
	"github.com/retryd/retryd/internal/window"
)

// Config is the whole configuration, resolved: every default is filled in.
type Config struct {
	Kafka       kafka.Config       `mapstructure:"kafka"`
	Relays      []tier.Config      `mapstructure:"relays"`
	Topics      kafka.TopicsConfig `mapstructure:"topics"`
	Redact      redact.Config      `mapstructure:"redact"`
	Window      window.Config      `mapstructure:"window"`
	StateDir    string             `mapstructure:"state_dir"`
	StopTimeout time.Duration      `mapstructure:"stop_timeout"`
	Admin       admin.Config       `mapstructure:"admin"`
	Log         logging.Config     `mapstructure:"log"`
}

// Default returns the defaults of everything but relays, which have none of their
// own here: a relay starts from tier.DefaultConfig.
func Default() Config {
	return Config{
		Kafka:       kafka.DefaultConfig(),
		Topics:      kafka.DefaultTopics(),
		Window:      window.DefaultConfig(),
		StopTimeout: 30 * time.Second,
		Admin:       admin.DefaultConfig(),
		Log:         logging.DefaultConfig(),
	}
}

// file is what the YAML file may hold: the configuration, and relay keys that are
// merged under every relay.
type file struct {
	Config   `mapstructure:",squash"`
	Defaults tier.Config `mapstructure:"defaults"`
}

// maxSize bounds the file, in bytes. A relay takes about 1 KiB.
const maxSize = 1 << 20

// Load reads the file at path. environ holds the environment as NAME=value, usually
// os.Environ(); it serves ${VAR} in the file, and RETRYD_<KEY> in place of keys that
// are in no list. The error is an *Error with every problem found.
func Load(path string, environ []string) (*Config, error) {
	data, err := read(path)
	if err != nil {
		return nil, &Error{Problems: []Problem{{File: path, Text: err.Error()}}}
	}
	return parse(path, data, environ)
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cannotRead(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, cannotRead(err)
	}
	if info.IsDir() {
		return nil, errors.New("is a directory; name the YAML file in it")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, cannotRead(err)
	}
	if len(data) > maxSize {
		return nil, errors.New("is larger than 1 MiB, which no configuration needs; is it the right file?")
	}
	return data, nil
}

// cannotRead leaves out the path, which the problem names already.
func cannotRead(err error) error {
	if path := new(fs.PathError); errors.As(err, &path) {
		err = path.Err
	}
	return errors.New("cannot be read: " + err.Error())
}

// parse is Load without the file system.
func parse(name string, data []byte, environ []string) (*Config, error) {
	l := &loader{file: name, env: newEnvironment(environ)}
	cfg := l.load(data)
	if cfg != nil {
		l.check(cfg)
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// load returns what can be made of data, or nil; values with a problem have their
// default.
func (l *loader) load(data []byte) *Config {
	root := l.readYAML(data)
	if root == nil {
		return nil
	}
	l.checkKeys(root, schema)
	l.applyEnvironment(root)
	root.mergeDefaults()
	l.root = root
	cfg := l.decode()
	for i := range cfg.Relays {
		cfg.Relays[i].Resolve()
	}
	return cfg
}
