package procstats

import (
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"taskrun/drivers"
)

// macOS does not report the swap of a process.
var measuredMemory = []string{drivers.MeasuredRSS}

// uptime returns the time since 1970, the clock of processes' starts.
func uptime() time.Duration { return time.Duration(time.Now().UnixNano()) }

// read reads the usage of a process. ok is false if it has ended.
func read(pid int) (r reading, ok bool) {
	p := &process.Process{Pid: int32(pid)}
	created, err := p.CreateTime() // in milliseconds
	if err != nil {
		return r, false
	}
	times, err := p.Times() // in seconds
	if err != nil {
		return r, false
	}
	memory, err := p.MemoryInfo()
	if err != nil {
		return r, false
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return reading{
		started: time.Duration(created) * time.Millisecond,
		user:    seconds(times.User), system: seconds(times.System),
		rss: memory.RSS,
	}, true
}
