package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/kafka"
)

// topicsOptions are the flags of topics.
type topicsOptions struct {
	config    string
	create    bool
	acls      bool
	principal string
	output    *format
}

func (p program) topicsCommand() *cobra.Command {
	var o topicsOptions
	cmd := &cobra.Command{
		Use:   "topics --config FILE",
		Short: "Show which topics there are, are missing or are wrong; create them",
		Long: `Show the topics of each relay, and the control topic, which all relays share: what
there is, what is missing, and what is wrong with which setting. Nothing is changed
without --create, which creates missing topics and adds missing partitions, as the
daemon does at its start.

A retired tier is a topic of an earlier, longer schedule. The daemon consumes it
until it is deleted; here you see when nothing is left in it.

With --acls the least rights that retryd needs on this Kafka are printed as
commands for its administrator. That contacts no Kafka.

Exit codes: 0 if everything stands, 1 if something is missing or wrong or Kafka
does not answer, 78 if the configuration is wrong.`,
		Example: `  retryd topics --config retryd.yaml
  retryd topics --config retryd.yaml --create
  retryd topics --config retryd.yaml --acls --principal User:CN=retryd`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.acls && o.create {
				return usage("--acls changes nothing: leave --create out")
			}
			if cmd.Flags().Changed("principal") && !o.acls {
				return usage("--principal is for --acls, which is missing")
			}
			cfg, err := p.load(o.config)
			switch {
			case err != nil:
				return err
			case o.acls:
				return p.printACLs(cfg, o)
			}
			return p.showTopics(cfg, o)
		},
	}
	configFlag(cmd, &o.config, requiredFile)
	cmd.Flags().BoolVar(&o.create, "create", false, "create what is missing")
	cmd.Flags().BoolVar(&o.acls, "acls", false, "print the rights that retryd needs")
	cmd.Flags().StringVar(&o.principal, "principal", "User:retryd", "whom --acls are for, `TYPE:NAME`")
	o.output = outputFlag(cmd)
	return cmd
}

// topicsReport is what topics prints as JSON.
type topicsReport struct {
	Relays []inspect.Topics `json:"relays"`
	Shared inspect.Topics   `json:"shared"`
}

// all are those of the relays, and those that they share.
func (r topicsReport) all() []inspect.Topics { return append(slices.Clone(r.Relays), r.Shared) }

// showTopics looks at the topics of all relays, or creates them first.
func (p program) showTopics(cfg *config.Config, o topicsOptions) error {
	cluster, err := kafka.Connect(context.Background(), cfg.Kafka)
	if err != nil {
		return explained(err)
	}
	report, err := survey(cluster, cfg, o.create)
	if err = errors.Join(err, cluster.Close()); err != nil {
		return explained(err)
	}
	if err := p.print(*o.output, report, func(w io.Writer) { writeTopics(w, report.all(), cfg, o.create) }); err != nil {
		return err
	}
	for _, relay := range report.all() {
		if !relay.Stands() {
			return errTold
		}
	}
	return nil
}

func survey(cluster *kafka.Cluster, cfg *config.Config, create bool) (topicsReport, error) {
	look, lookAtShared := inspect.SurveyTopics, inspect.SurveyShared
	if create {
		look, lookAtShared = inspect.CreateTopics, inspect.CreateShared
	}
	var report topicsReport
	for _, relay := range cfg.Relays {
		topics, err := look(cluster, relay)
		if err != nil {
			return report, fmt.Errorf("relay %s: %w", relay.Name, err)
		}
		report.Relays = append(report.Relays, topics)
	}
	var err error
	report.Shared, err = lookAtShared(cluster, cfg)
	return report, err
}
