package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// patience limits every operation.
const patience = time.Minute

type round struct {
	dir, starts, program string
	random               *rand.Rand
	env                  []string
}

func newRound(dir, program string, random *rand.Rand) (*round, error) {
	r := &round{dir: dir, starts: filepath.Join(dir, "starts"), program: program, random: random}
	for _, d := range []string{r.starts, r.sockets()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + filepath.Join(dir, "r"), "TMPDIR=" + dir,
		"TASKRUN_DATA_DIR=" + filepath.Join(dir, "data"), r.mark(),
	}
	return r, os.WriteFile(filepath.Join(dir, "job.nomad.hcl"), []byte(jobFile(r.starts)), 0o600)
}

func (r *round) sockets() string { return filepath.Join(r.dir, "r", "taskrun") }

// mark returns a variable in the environment of every process of the round.
func (r *round) mark() string { return "CRASH_ROUND=" + r.dir }

func (r *round) command(args ...string) *exec.Cmd {
	cmd := exec.Command(r.program, args...)
	cmd.Env, cmd.Dir = r.env, r.dir
	return cmd
}

func over(runDir string) bool {
	_, err := os.Stat(filepath.Join(runDir, "summary.json"))
	return err == nil
}

// engine returns the process that runs the job, according to the record of the
// run, or 0. The children of the keeper cannot be told apart by looking at
// them: a task between fork and execve looks like its engine.
func (r *round) engine(keeper string) int {
	pid := r.newest(keeper)
	status, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if !bytes.Contains(status, []byte("\nPPid:\t"+keeper+"\n")) {
		return 0 // it has ended
	}
	return pid
}

// newest returns the latest process that the record of a run names, or 0.
func (r *round) newest(keeper string) (pid int) {
	records, _ := filepath.Glob(filepath.Join(r.sockets(), keeper+"-*.run")) // the pattern is valid
	if len(records) == 0 {
		return 0
	}
	text, _ := os.ReadFile(records[0]) // it may just have been removed
	if _, err := fmt.Sscanf(string(text), "program %d ", &pid); err != nil {
		return 0
	}
	return pid
}

// until calls a function again and again until it returns no error, or a fatal one,
// but no longer than patience.
func until(pause time.Duration, f func() (fatal, err error)) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		fatal, err := f()
		if fatal != nil || err == nil || time.Now().After(deadline) {
			return cmp.Or(fatal, err)
		}
	}
}

// noProcesses waits until no process of the round is left.
func (r *round) noProcesses() error {
	return until(10*time.Millisecond, func() (fatal, err error) {
		if pids := r.processes(); len(pids) > 0 {
			err = fmt.Errorf("left behind: processes %v", pids)
		}
		return nil, err
	})
}

// nothingLeft waits until no process and no socket of the round is left.
func (r *round) nothingLeft() error {
	return errors.Join(r.noProcesses(), until(10*time.Millisecond, func() (fatal, err error) {
		files, fatal := os.ReadDir(r.sockets())
		for _, f := range files {
			if f.Name() != "ports" {
				err = errors.Join(err, fmt.Errorf("left behind: %s", f.Name()))
			}
		}
		return fatal, err
	}), r.noFIFOs())
}

func (r *round) noFIFOs() error {
	return filepath.WalkDir(filepath.Join(r.dir, "data"), func(path string, e os.DirEntry, err error) error {
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if e != nil && (e.Type() == os.ModeNamedPipe || e.IsDir() && (e.Name() == "secrets" || e.Name() == "private")) {
			return fmt.Errorf("left behind: %s", path)
		}
		return nil
	})
}

// processes returns the processes of the round.
func (r *round) processes() []int { return processesWith(r.mark() + "\x00") }

// processesWith returns the processes with a text in their environment.
func processesWith(text string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && bytes.Contains(env, []byte(text)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (r *round) killAll() {
	for _, pid := range r.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
	}
}
