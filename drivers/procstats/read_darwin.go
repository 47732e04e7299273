package procstats

import (
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"taskrun/drivers"
)

// macOS tells of no swap of a single process.
var measuredMemory = []string{drivers.MeasuredRSS}

// uptime is the time since 1970, on the clock of processes' starts.
func uptime() time.Duration { return time.Duration(time.Now().UnixNano()) }

// read looks at a process. ok is false when there is none any more.
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
