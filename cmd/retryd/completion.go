package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/config"
)

// addCompletion adds cobra's command, for which it makes an error of no shell and of one
// that it does not know. The scripts go to the output that root has by now.
func addCompletion(root *cobra.Command) {
	const name = "completion"
	root.InitDefaultCompletionCmd(name)
	for _, c := range root.Commands() {
		if c.Name() == name {
			c.RunE = func(*cobra.Command, []string) error {
				return usage("a shell is missing: bash, fish, powershell or zsh")
			}
		}
	}
}

// completeWith lets a shell offer the values of a flag.
func completeWith(cmd *cobra.Command, flag string, values ...string) {
	complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completeRelays lets a shell offer relays for --relay.
func (p program) completeRelays(cmd *cobra.Command) { complete(cmd, "relay", p.offerRelays) }

// completeRelay lets a shell offer relays for the one argument of a command.
func (p program) completeRelay(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.offerRelays(cmd, args, begun)
}

// offerRelays returns the relays of the file that --config names. A file that has problems
// offers none.
func (p program) offerRelays(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	path := cmd.Flag("config").Value.String() // "" is a file that cannot be read
	cfg, err := config.Load(path, p.environ)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return relayNames(cfg), cobra.ShellCompDirectiveNoFileComp
}

// completeCommands lets a shell offer the commands below the one that the arguments name.
func completeCommands(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	about, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, c := range about.Commands() {
		if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), begun) {
			names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	_ = cmd.RegisterFlagCompletionFunc(flag, f) // fails only for a flag that is not there
}
