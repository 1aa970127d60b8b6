package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/tier"
)

// sendOptions are the flags of send.
type sendOptions struct {
	config    string
	relay     string
	value     string
	key       string
	hasKey    bool
	headers   []string
	attempt   int // 0: the first that the daemon makes
	tombstone bool
	output    *format
}

func (p program) sendCommand() *cobra.Command {
	var o sendOptions
	cmd := &cobra.Command{
		Use:   "send --config FILE --value TEXT",
		Short: "POST one record to an endpoint, as the daemon would",
		Long: `POST one record to the endpoint of a relay, exactly as the daemon would, and show
the answer and what the daemon would do next. Kafka is not needed, and nothing is
written to it: the record is made of the flags, and is not retried. With
consume: false the daemon's first attempt is attempt 2: the record is one that your
application wrote into tier 1.

--value is the text itself, or @FILE for the bytes of a file, @- for standard input.

Exit codes: 0 if the endpoint accepted the record, 1 if not, 78 if the configuration
is wrong.`,
		Example: `  retryd send --config retryd.yaml --value '{"loan":1}'
  retryd send --config retryd.yaml --relay loans --value @loan.json --key loan-1
  retryd send --config retryd.yaml --value @- --header traceparent=00-0af7-b7ad-01 < loan.json
  retryd send --config retryd.yaml --value @loan.json --attempt 3
  retryd send --config retryd.yaml --key loan-1 --tombstone`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.hasKey = cmd.Flags().Changed("key")
			switch {
			case cmd.Flags().Changed("value") == o.tombstone:
				return usage("give either --value or --tombstone")
			case cmd.Flags().Changed("attempt") && o.attempt < 1:
				return usage("--attempt is %d: the first attempt is 1", o.attempt)
			}
			return p.send(o)
		},
	}
	flags := cmd.Flags()
	configFlag(cmd, &o.config, requiredFile)
	flags.StringVarP(&o.relay, "relay", "r", "", "the relay's `NAME`; may be left out if the file has one relay")
	flags.StringVar(&o.value, "value", "", "the record's value: `TEXT`, @FILE, or @- for standard input")
	flags.StringVar(&o.key, "key", "", "the record's `KEY`; null if left out")
	flags.StringArrayVar(&o.headers, "header", nil, "a header of the record, `NAME=VALUE`; may be repeated")
	flags.IntVar(&o.attempt, "attempt", 0, "send the `N`th attempt, as after N-1 failures; else the daemon's first")
	flags.BoolVar(&o.tombstone, "tombstone", false, "send a null value")
	o.output = outputFlag(cmd)
	p.completeRelays(cmd)
	return cmd
}

// send makes one attempt and tells of it.
func (p program) send(o sendOptions) error {
	cfg, err := p.load(o.config)
	if err != nil {
		return err
	}
	relay, err := relayOf(cfg, o.relay)
	if err != nil {
		return err
	}
	r, err := p.recordOf(relay, o)
	if err != nil {
		return err
	}
	schedule, _ := relay.Schedule() // the configuration is valid
	hide := cfg.Redact.Rules(relay.EventIDHeaders)
	state, warnings, err := stateOf(relay, schedule, &r, o.attempt, hide)
	if err != nil {
		return err
	}
	client, err := forward.New(relay.Endpoint, relay.Name, currentVersion(), hide)
	if err != nil {
		return fmt.Errorf("relay %s: endpoint.%w", relay.Name, err)
	}
	defer client.Close()
	outcome := client.Attempt(context.Background(), forward.Request{Record: &r, State: &state})
	report := reportOf(relay, schedule, &r, state, outcome, hide)
	report.Warnings = warnings
	if err := p.print(*o.output, report, report.write); err != nil {
		return err
	}
	if !outcome.Delivered() {
		return errTold
	}
	return nil
}

// relayOf returns the relay of that name, or the only one.
func relayOf(cfg *config.Config, name string) (tier.Config, error) {
	names := relayNames(cfg)
	for i, relay := range cfg.Relays {
		if relay.Name == name || name == "" && len(names) == 1 {
			return cfg.Relays[i], nil
		}
	}
	if name == "" {
		return tier.Config{}, usage("--relay is missing: name one of %s", strings.Join(names, ", "))
	}
	return tier.Config{}, usage("--relay is %q, but the file has %s", name, strings.Join(names, ", "))
}

func relayNames(cfg *config.Config) []string {
	var names []string
	for _, relay := range cfg.Relays {
		names = append(names, relay.Name)
	}
	return names
}

// recordOf makes the record as it would have been read from the main topic. There is
// no partition and no offset to it: it has the first ones.
func (p program) recordOf(relay tier.Config, o sendOptions) (record.Record, error) {
	r := record.Record{Topic: relay.Topic, Timestamp: time.Now().Truncate(time.Millisecond)}
	if o.hasKey {
		r.Key = []byte(o.key)
	}
	for _, h := range o.headers {
		name, value, ok := strings.Cut(h, "=")
		if !ok || name == "" {
			return record.Record{}, usage("--header is %q: write NAME=VALUE", h)
		}
		r.Headers = append(r.Headers, record.Header{Key: []byte(name), Value: []byte(value)})
	}
	if o.tombstone {
		return r, nil
	}
	var err error
	r.Value, err = p.valueOf(o.value)
	return r, err
}

// maxValue bounds a record's value, in bytes. Kafka takes 1 MiB if nobody says otherwise.
const maxValue = 64 << 20

// valueOf returns the bytes of a value. They are never nil, which would be Kafka's
// null.
func (p program) valueOf(value string) ([]byte, error) {
	path, isFile := strings.CutPrefix(value, "@")
	switch {
	case !isFile:
		return []byte(value), nil
	case path == "-":
		return readValue("standard input", p.stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--value: %w", err)
	}
	defer f.Close()
	return readValue(path, f)
}

func readValue(name string, from io.Reader) ([]byte, error) {
	bytes, err := io.ReadAll(io.LimitReader(from, maxValue+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--value: read %s: %w", name, err)
	case len(bytes) > maxValue:
		return nil, fmt.Errorf("--value: %s holds more than %d MiB, which is no record", name, maxValue>>20)
	}
	return bytes, nil
}
