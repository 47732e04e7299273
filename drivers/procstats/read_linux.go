package procstats

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/drivers"
)

var measuredMemory = []string{drivers.MeasuredRSS, drivers.MeasuredSwap}

// tick is the unit of /proc/PID/stat, 1/USER_HZ, which is the same on every
// architecture that Go supports.
const tick = time.Second / 100

// uptime returns the time since boot, the clock of processes' starts.
func uptime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// read reads the usage of a process. ok is false if it has ended.
func read(pid int) (r reading, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return r, false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return r, false
	}
	if r, ok = parseStat(stat); ok {
		r.rss, r.swap = parseStatus(status)
	}
	return r, ok
}

// parseStat parses times; see proc_pid_stat(5). The second field, a program's name
// in parentheses, may contain any byte.
func parseStat(stat []byte) (r reading, ok bool) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return r, false
	}
	ok = true
	ticks := func(field int) time.Duration {
		n, err := strconv.ParseUint(string(fields[field-3]), 10, 39) // cannot overflow a duration
		ok = ok && err == nil
		return time.Duration(n) * tick
	}
	return reading{started: ticks(22), user: ticks(14), system: ticks(15)}, ok
}

// parseStatus parses sizes; see proc_pid_status(5). A kernel without swap has no
// VmSwap.
func parseStatus(status []byte) (rss, swap uint64) {
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		var into *uint64
		switch string(name) {
		case "VmRSS":
			into = &rss
		case "VmSwap":
			into = &swap
		default:
			continue
		}
		kilobytes := bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))
		if n, err := strconv.ParseUint(string(kilobytes), 10, 54); err == nil {
			*into = n << 10
		}
	}
	return rss, swap
}
