package harness

// Addr returns where the daemon's admin listener is, as host:port.
func (d *Daemon) Addr() string { return d.admin }
