package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/admin"
	"github.com/retryd/retryd/internal/config"
)

// addressOptions are the flags that say where a running daemon listens.
type addressOptions struct{ config, address string }

func addressFlags(cmd *cobra.Command, o *addressOptions) {
	configFlag(cmd, &o.config, "take admin.listen of the YAML `FILE`")
	cmd.Flags().VarP((*filled)(&o.address), "address", "a", "where the daemon listens, `HOST:PORT`")
	complete(cmd, "address", cobra.NoFileCompletions)
}

// whereItListens ends the help texts of commands with these flags.
const whereItListens = `The address is that of --address, else $RETRYD_ADMIN_LISTEN, else admin.listen of
the file, whose other keys may be wrong, else 127.0.0.1:9464.`

// addressOf returns where the daemon listens, as admin.listen has it.
func (p program) addressOf(o addressOptions) (string, error) {
	switch {
	case o.address != "" && o.config != "":
		return "", usage("give either --address or --config")
	case o.address != "":
		return o.address, nil
	case o.config != "":
		return config.AdminListen(o.config, p.environ)
	}
	for _, variable := range p.environ {
		if listen, ok := strings.CutPrefix(variable, "RETRYD_ADMIN_LISTEN="); ok && listen != "" {
			return listen, nil
		}
	}
	return admin.DefaultConfig().Listen, nil
}
