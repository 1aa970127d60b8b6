package main

var escalation, lateness, latenessBacklog, memory, startup, recovery, neighbours, idle scenario
