package main

import "github.com/spf13/cobra"

// helpCommand takes the place of cobra's, which ends well after a command that there is
// not.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Explain a command",
		Long:    "Explain a command, as its flag --help does, or list all commands.",
		Example: "  retryd help check",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return &usageError{err}
			}
			if len(rest) > 0 {
				return usage("%q has no command %q", about.CommandPath(), rest[0])
			}
			about.InitDefaultHelpFlag() // which is not there before a command runs
			return about.Help()
		},
		ValidArgsFunction: completeCommands,
	}
}
