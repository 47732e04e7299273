package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

const (
	warmUps  = 3
	patience = 2 * time.Minute // for what should take seconds
)

// A bell is a named pipe to which tasks write a line.
type bell struct {
	path string
	file *os.File
}

func newBell(dir string) (*bell, error) {
	path := filepath.Join(dir, "bell")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("cannot make %q: %w", path, err)
	}
	// Opened for both directions, so that it has no end of file.
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &bell{path, file}, nil
}

// ring returns the shell command with which a task rings.
func (b *bell) ring() string { return "echo >" + b.path }

// wait waits until the bell has rung n times, and returns the time.
func (b *bell) wait(n int) (time.Time, error) {
	if err := b.file.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return time.Time{}, err
	}
	_, err := io.ReadFull(b.file, make([]byte, n))
	at := time.Now()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return at, fmt.Errorf("the bell did not ring %d times within %s", n, patience)
	}
	return at, err
}

func (b *bell) close() { b.file.Close() }

// firstAct measures the time from the start of a runner to the single action of
// its only task, and from there to the end of the runner.
func firstAct(o options, dir string, runners []runner) ([]measure, error) {
	before, after := map[string][]float64{}, map[string][]float64{}
	err := inTurns(o.runs+warmUps, runners, func(turn int, r runner) error {
		act, end, err := oneAct(dir, r)
		if turn < warmUps || err != nil {
			return err
		}
		before[r.name] = append(before[r.name], act.Seconds())
		if r.start == nil { // otherwise the agent ends the task
			after[r.name] = append(after[r.name], end.Seconds())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []measure{
		{
			what: "up to the task's first act", format: milliseconds, values: medians(before),
			budgets: []budget{{"hivemind", 2}},
		},
		{
			what: "the last task's end to exit", format: milliseconds, values: medians(after),
			budgets: []budget{{"", 0.005}},
		},
	}, nil
}

func oneAct(dir string, r runner) (act, end time.Duration, err error) {
	dir, err = os.MkdirTemp(dir, "act")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	bell, err := newBell(dir)
	if err != nil {
		return 0, 0, err
	}
	defer bell.close()
	cmd, err := r.command(dir, []string{bell.ring()})
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	at, err := bell.wait(1)
	if err != nil {
		stop(cmd)
		return 0, 0, err
	}
	err = finished(cmd)
	return at.Sub(start), time.Since(at), err
}

// finished waits for a runner to end successfully.
func finished(cmd *exec.Cmd) error {
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%q: %w", cmd.Args, err)
	}
	return nil
}

// stop stops a runner like Ctrl-C, and kills it if it does not stop.
func stop(cmd *exec.Cmd) {
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended
	_ = cmd.Wait()                       // its exit code does not matter
}

func medians(times map[string][]float64) map[string]float64 {
	values := map[string]float64{}
	for name, t := range times {
		values[name] = median(t)
	}
	return values
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
