package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

type options struct {
	runs  int // of short measurements
	tasks int
	mib   int // of output
}

// warmUps are the first runs of short measurements, which do not count.
const warmUps = 3

// A runner is a program that runs tasks, which are shell command lines, until
// they have ended.
type runner struct {
	name string
	path string
	file func(tasks []string) string     // the text of its file
	args func(dir, file string) []string // its arguments; dir is empty

	// agent starts the runner's agent and returns a function that stops it; nil
	// if the runner has none.
	agent func() (stop func(), err error)

	// exec returns the command line that runs a command in the first task; nil
	// if the runner cannot.
	exec func(command []string) []string
}

// command returns the command that runs the tasks, with its files in dir.
func (r runner) command(dir string, tasks []string) (*exec.Cmd, error) {
	file := filepath.Join(dir, "tasks")
	if err := os.WriteFile(file, []byte(r.file(tasks)), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(r.path, r.args(dir, file)...)
	cmd.Dir = dir
	return cmd, nil
}

// start starts that command, and returns when. Without an environment it has that
// of this process.
func (r runner) start(dir string, env []string, tasks ...string) (cmd *exec.Cmd, began time.Time, err error) {
	if cmd, err = r.command(dir, tasks); err != nil {
		return nil, began, err
	}
	cmd.Env = env
	began = time.Now()
	return cmd, began, cmd.Start()
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

// inTurns calls f n times for each runner. Runners take turns, in another order
// each time, so that a busy moment affects all of them. Those with an agent
// come last and one at a time: the agent is busy even after its tasks have
// ended.
func inTurns(n int, runners []runner, f func(turn int, r runner) error) error {
	alone := func(r runner) bool { return r.agent != nil }
	crowd := slices.DeleteFunc(slices.Clone(runners), alone)
	for turn := range n {
		rand.Shuffle(len(crowd), func(i, j int) { crowd[i], crowd[j] = crowd[j], crowd[i] })
		for _, r := range crowd {
			if err := f(turn, r); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	for _, r := range runners {
		if !alone(r) {
			continue
		}
		if err := withAgent(n, r, f); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

func withAgent(n int, r runner, f func(turn int, r runner) error) error {
	stop, err := r.agent()
	if err != nil {
		return err
	}
	defer stop()
	for turn := range n {
		if err := f(turn, r); err != nil {
			return err
		}
	}
	return nil
}

// samples are what was measured, by the name of the runner.
type samples map[string][]float64

func (s samples) add(r runner, value float64) { s[r.name] = append(s[r.name], value) }

func (s samples) medians() map[string]float64 {
	values := map[string]float64{}
	for name, list := range s {
		values[name] = median(list)
	}
	return values
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
