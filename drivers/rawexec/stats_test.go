package rawexec_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
)

// A first sample is sent at once, then one every interval, until the end.
func TestStats(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell("(setsid sleep 1000 &); sleep 1000 & echo ready; while :; do :; done")).ready()
	samples, err := f.driver.TaskStats(f.ctx, f.cfg.ID, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for { // until the children have executed sleep and time has passed
		u, ok := <-samples
		if !ok {
			t.Fatal("the samples ended before the task")
		}
		cpu, memory := u.ResourceUsage.CpuStats, u.ResourceUsage.MemoryStats
		if u.Processes != len(u.Pids) || u.Pids[strconv.Itoa(f.pid())] == nil {
			t.Fatalf("the sample is %+v", u)
		}
		if u.Processes == 3 && cpu.Percent > 0 && memory.RSS > 30000 && slices.Contains(cpu.Measured, "Percent") {
			break
		}
	}
	if err := f.driver.StopTask(f.ctx, f.cfg.ID, 0, ""); err != nil {
		t.Fatal(err)
	}
	for range samples { // they end
	}
	if samples, err = f.driver.TaskStats(f.ctx, f.cfg.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	if u, ok := <-samples; ok {
		t.Errorf("after the end there is a sample %+v", u)
	}
}

func TestStatsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper)).ready()
	ctx, cancel := context.WithCancel(f.ctx)
	samples, err := f.driver.TaskStats(ctx, f.cfg.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if u := <-samples; u == nil || u.Processes != 1 {
		t.Errorf("the first sample is %+v", u)
	}
	cancel()
	if u, ok := <-samples; ok {
		t.Errorf("there is another sample, %+v", u)
	}
	if _, err := f.driver.TaskStats(f.ctx, "nobody", 0); !errors.Is(err, drivers.ErrTaskNotFound) {
		t.Errorf("of an unknown task: %v", err)
	}
}

// The first sample of a task has its processes, although those of the tasks before it
// were looked up a moment ago.
func TestStatsOfANewTask(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper)).ready()
	first := func() *drivers.TaskResourceUsage {
		samples, err := f.driver.TaskStats(f.ctx, f.cfg.ID, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return <-samples
	}
	first()
	before := f.cfg.ID
	t.Cleanup(func() {
		if err := f.driver.DestroyTask(before, true); err != nil {
			t.Error(err)
		}
	})
	f.cfg, f.output = drivertest.Task(t, f.driver, shell(sleeper))
	f.ready()
	if u := first(); u.Processes != 1 || u.Pids[strconv.Itoa(f.pid())] == nil {
		t.Errorf("the first sample is %+v", u)
	}
}

// Processes run by exec count as the task's.
func TestStatsOfCommands(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper)).ready()
	ctx, cancel := context.WithCancel(f.ctx)
	said := newSaid()
	ended := make(chan error, 1)
	go func() {
		_, err := f.driver.ExecTaskStreaming(ctx, f.cfg.ID, &drivers.ExecOptions{
			Command: []string{"sh", "-c", "(setsid sleep 1000 &); echo begun; sleep 1000"},
			Stdin:   strings.NewReader(""), Stdout: said, Stderr: said,
		})
		ended <- err
	}()
	said.await(f.ctx, t, "begun")
	samples, err := f.driver.TaskStats(f.ctx, f.cfg.ID, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	count := func(want int) {
		t.Helper()
		for u := range samples {
			if u.Processes == want {
				return
			}
		}
		t.Fatalf("there never were %d processes", want)
	}
	count(4) // the task's sleep; a shell and its two
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	count(1)
}

func TestPeakMemory(t *testing.T) {
	t.Parallel()
	var own unix.Rusage // a smaller size could not be distinguished from this program's
	if err := unix.Getrusage(unix.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	size := own.Maxrss<<10 + 100_000_000 // KiB on Linux; macOS counts bytes
	f := newFixture(t, shell(fmt.Sprintf("head -c %d /dev/zero | tail -c %d | wc -c", size, size))).start()
	if r := f.result(); r.ExitCode != 0 || r.PeakMemory < size || r.PeakMemory > 3*size {
		t.Errorf("the result is %+v", r)
	}
}
