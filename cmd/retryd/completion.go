package main

import (
	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/config"
)

// completeWith lets a shell offer the values of a flag.
func completeWith(cmd *cobra.Command, flag string, values ...string) {
	complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completeRelays lets a shell offer the relays of the file that --config names, for
// --relay. A file that has problems offers none.
func (p program) completeRelays(cmd *cobra.Command) {
	complete(cmd, "relay", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		path, _ := cmd.Flags().GetString("config") // "" is a file that cannot be read
		cfg, err := config.Load(path, p.environ)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return relayNames(cfg), cobra.ShellCompDirectiveNoFileComp
	})
}

func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	_ = cmd.RegisterFlagCompletionFunc(flag, f) // fails only for a flag that is not there
}
