package procstats

import "time"

// reading is the usage of a process at one moment.
type reading struct {
	started      time.Duration // on the clock of uptime; distinguishes processes with the same PID
	user, system time.Duration // CPU time since then
	rss, swap    uint64        // bytes
}
