package procstats

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/drivers"
)

// start starts a shell with a script, and ends it with the test.
func start(t *testing.T, script string) int {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func TestSample(t *testing.T) {
	t.Parallel()
	const least = 10_000
	busy, idle, gone := start(t, "while :; do :; done"), start(t, "exec sleep 1000"), 1<<30
	pids := []int{busy, idle, gone}
	var s Sampler
	var u *drivers.TaskResourceUsage
	for deadline := time.Now().Add(20 * time.Second); ; { // until one has used some CPU time, and the other has its program
		u = s.Sample(pids)
		if second := u.Pids[strconv.Itoa(idle)]; u.ResourceUsage.CpuStats.Percent > 0 && second != nil && second.MemoryStats.RSS > least {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("they use nothing: %+v", u)
		}
	}
	if u.Processes != 2 || len(u.Pids) != 2 || u.Pids[strconv.Itoa(idle)] == nil || time.Since(time.Unix(0, u.Timestamp)) > time.Minute {
		t.Fatalf("the sample is %+v", u)
	}
	sum, first, second := u.ResourceUsage, u.Pids[strconv.Itoa(busy)], u.Pids[strconv.Itoa(idle)]
	if first.MemoryStats.RSS < least || second.MemoryStats.RSS < least || sum.MemoryStats.RSS != first.MemoryStats.RSS+second.MemoryStats.RSS {
		t.Errorf("memory is %d and %d, together %d", first.MemoryStats.RSS, second.MemoryStats.RSS, sum.MemoryStats.RSS)
	}
	if c := sum.CpuStats; c.Percent != c.UserMode+c.SystemMode || c.Percent < second.CpuStats.Percent {
		t.Errorf("the CPU is %+v", c)
	}
	if diff := cmp.Diff([]string{"System Mode", "User Mode", "Percent"}, sum.CpuStats.Measured); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(sum.MemoryStats.Measured, drivers.MeasuredRSS) {
		t.Errorf("of memory was measured %q", sum.MemoryStats.Measured)
	}
}

func TestSampleOfNothing(t *testing.T) {
	t.Parallel()
	u := new(Sampler).Sample(nil)
	if u.Processes != 0 || u.ResourceUsage.MemoryStats.RSS != 0 || len(u.ResourceUsage.MemoryStats.Measured) == 0 {
		t.Errorf("it is %+v", u)
	}
}

// A rate covers the time since the last sample. A process with a reused PID
// starts from zero.
func TestUsage(t *testing.T) {
	t.Parallel()
	const s = time.Second
	r := reading{user: 5 * s, system: 3 * s, rss: 7, swap: 8}
	for name, tt := range map[string]struct {
		before       reading
		ago          time.Duration
		user, system float64
	}{
		"since it began":   {reading{}, 10 * s, 50, 30},
		"since the last":   {reading{user: 4 * s, system: 1 * s}, 2 * s, 50, 100},
		"two CPUs":         {reading{user: 1 * s, system: 3 * s}, 2 * s, 200, 0},
		"no time between":  {reading{}, 0, 0, 0},
		"a clock set back": {reading{}, -s, 0, 0},
	} {
		u := r.usage(tt.before, tt.ago)
		if c := u.CpuStats; c.UserMode != tt.user || c.SystemMode != tt.system || c.Percent != tt.user+tt.system {
			t.Errorf("%s: %+v", name, c)
		}
		if m := u.MemoryStats; m.RSS != 7 || m.Swap != 8 {
			t.Errorf("%s: %+v", name, m)
		}
	}
	sampler := Sampler{last: map[int]reading{os.Getpid(): {started: 1, user: 1000 * time.Hour}}, at: uptime() - s}
	if c := sampler.Sample([]int{os.Getpid()}).ResourceUsage.CpuStats; c.Percent < 0 || c.Percent > 100*64 {
		t.Errorf("a process with the number of another uses %+v", c)
	}
}
