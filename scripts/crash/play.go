package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// maxKills is one less than the number of deaths after which the keeper gives
// up.
const maxKills = 4

// play plays one round, in the foreground or the background, and returns how
// many times it killed the engine.
func (r *round) play(foreground bool) (kills int, err error) {
	if foreground {
		if err := errors.Join(r.killForeground(), r.noProcesses()); err != nil {
			return 1, err
		}
		// If the engine died before it had a keeper, the next command cleans
		// up.
		out, err := r.command("ps").CombinedOutput()
		if err != nil {
			return 1, fmt.Errorf("ps: %w: %s", err, out)
		}
		return 1, r.nothingLeft()
	}
	run, err := r.detach()
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			text, _ := os.ReadFile(run.Log)
			err = fmt.Errorf("%w\nits log:\n%s", err, text)
			r.killAll()
		}
	}()
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGKILL, syscall.SIGQUIT}
	for kills < maxKills {
		pause := time.Duration(r.random.IntN(800)) * time.Millisecond
		if r.random.IntN(3) == 0 {
			pause /= 50 // while it recovers
		}
		time.Sleep(pause)
		pid := r.engine(run.keeper())
		if pid == 0 {
			if over(run.RunDir) {
				break
			}
			continue
		}
		_ = syscall.Kill(pid, signals[r.random.IntN(len(signals))]) // it may just have ended
		kills++
	}
	ended := until(10*time.Millisecond, func() (fatal, err error) {
		if !over(run.RunDir) {
			err = errors.New("it does not end")
		}
		return nil, err
	})
	if ended != nil {
		return kills, ended
	}
	return kills, errors.Join(r.check(run.RunDir), r.nothingLeft())
}

// killForeground kills a run in the foreground.
func (r *round) killForeground() error {
	cmd := r.command("up")
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(time.Duration(r.random.IntN(1500)) * time.Millisecond)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed, of course
	return nil
}

// detached is what a run in the background says of itself.
type detached struct {
	Socket string `json:"socket"`
	RunDir string `json:"run_dir"`
	Log    string `json:"log"`
}

// keeper returns the process that is the keeper of the run.
func (d detached) keeper() string {
	return strings.TrimSuffix(d.Socket[strings.LastIndexByte(d.Socket, '-')+1:], ".sock")
}

// detach starts a run in the background.
func (r *round) detach() (run detached, err error) {
	out, err := r.command("up", "--detach", "--output", "json").Output()
	if err != nil {
		return run, fmt.Errorf("up --detach: %w", err)
	}
	if err := json.Unmarshal(out, &run); err != nil {
		return run, fmt.Errorf("%s: %w", out, err)
	}
	return run, nil
}

// playFunc plays the i-th round, and returns how many times it killed an engine.
type playFunc func(r *round, i int) (kills int, err error)

func playRound(r *round, i int) (kills int, err error) { return r.play(i%5 == 4) }
