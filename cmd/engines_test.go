package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"taskrun/cmd/client"
)

// scriptTime limits every wait of a journey.
const scriptTime = 2 * time.Minute

// engines are the running runs that a script has started.
type engines struct {
	mu      sync.Mutex
	running map[string]*engineProcess // by the script's directory and the name
}

type engineProcess struct {
	cmd    *exec.Cmd
	states chan string // name of each task that starts running; closed at the end
	last   string      // the last object before that: the summary
}

// run is the script command
//
//	run NAME FILE TASK...   start "taskrun up FILE", and wait until each TASK is running
//
// A task that is named twice must run in two allocations. If the run is going to be
// killed, its tasks must end by themselves: $LIFE is a FIFO that ends with the
// script.
func (e *engines) run(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: run NAME FILE TASK...")
	}
	path, err := exec.LookPath("taskrun")
	ts.Check(err)
	p := &engineProcess{cmd: exec.Command(path, "up", "--output", "json", args[1]), states: make(chan string, 64)}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Env = append(environment(ts), "LIFE="+life(ts))
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	e.add(ts, args[0], p)
	go p.read(out)
	timeout := time.After(scriptTime)
	for wanted := args[2:]; len(wanted) > 0; {
		select {
		case task, ok := <-p.states:
			if !ok {
				ts.Fatalf("%s ended before %q ran: %s", args[0], wanted, p.last)
			}
			if i := slices.Index(wanted, task); i >= 0 {
				wanted = slices.Delete(wanted, i, i+1)
			}
		case <-timeout:
			ts.Fatalf("%q do not run", wanted)
		}
	}
}

// environment returns the environment of the script.
func environment(ts *testscript.TestScript) []string {
	env := []string{"PWD=" + ts.MkAbs(".")}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TASKRUN_DATA_DIR", "TASKRUN_ADDRESS", "TASKRUN_CACERT", "TASKRUN_TOKEN", "XDG_RUNTIME_DIR", "WORK", "TERM", "LANG", "DOCKER_HOST", "CONTAINER_HOST", "GOCOVERDIR", "GORACE"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// life creates a FIFO that is open for writing until the end of the script.
func life(ts *testscript.TestScript) string {
	path := ts.MkAbs("life")
	if err := syscall.Mkfifo(path, 0o600); errors.Is(err, fs.ErrExist) {
		return path
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	ts.Check(err)
	ts.Defer(func() { _ = f.Close() })
	return path
}

// read reads the objects of a run until its end.
func (p *engineProcess) read(out io.Reader) {
	defer close(p.states)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		p.last = lines.Text()
		var o struct{ Type, Task, State string }
		if json.Unmarshal(lines.Bytes(), &o) == nil && o.Type == "task_state" && o.State == "running" {
			select {
			case p.states <- o.Task:
			default: // the journey does not wait for it
			}
		}
	}
}

func (e *engines) add(ts *testscript.TestScript, name string, p *engineProcess) {
	key := ts.MkAbs(".") + "/" + name
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running == nil {
		e.running = make(map[string]*engineProcess)
	}
	e.running[key] = p
	ts.Defer(func() {
		if e.take(key) != nil {
			_ = p.end(os.Interrupt)
		}
	})
}

func (e *engines) take(key string) *engineProcess {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.running[key]
	delete(e.running, key)
	return p
}

// end is the script command
//
//	end NAME INT|KILL|CUT   send the run a signal, and wait for its end
//
// CUT simulates a power failure.
func (e *engines) end(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"INT": os.Interrupt, "KILL": os.Kill, "CUT": os.Kill}
	if neg || len(args) != 2 || signals[args[1]] == nil {
		ts.Fatalf("usage: end NAME INT|KILL|CUT")
	}
	p := e.take(ts.MkAbs(".") + "/" + args[0])
	if p == nil {
		ts.Fatalf("no run %s", args[0])
	}
	if args[1] == "CUT" {
		ts.Check(p.cut())
		defer func() {
			ts.Check(os.RemoveAll(ts.Getenv("XDG_RUNTIME_DIR"))) // a reboot creates an empty one
			ts.Check(os.Mkdir(ts.Getenv("XDG_RUNTIME_DIR"), 0o700))
		}()
	}
	ts.Check(p.end(signals[args[1]]))
}

// cut kills the keeper of a run in a way that the run cannot react to.
func (p *engineProcess) cut() error {
	for deadline := time.Now().Add(scriptTime); ; <-time.After(5 * time.Millisecond) {
		if keepers := keepersOf(p.cmd.Process.Pid); len(keepers) == 1 {
			return errors.Join(p.cmd.Process.Signal(syscall.SIGSTOP), syscall.Kill(keepers[0], syscall.SIGKILL))
		}
		if time.Now().After(deadline) {
			return errors.New("there is no keeper")
		}
	}
}

// endRuns ends the background runs and agents that a script, for example a failed
// one, has left. An agent may have left its tasks to its keeper.
func endRuns(taskrun, sockets string, env []string) {
	left, _ := filepath.Glob(filepath.Join(sockets, "taskrun", "*.sock")) // the pattern is valid
	records, _ := filepath.Glob(filepath.Join(sockets, "taskrun", "*-*.run"))
	if len(left)+len(records) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scriptTime)
	defer cancel()
	run := func(args ...string) []byte {
		cmd := exec.CommandContext(ctx, taskrun, args...)
		cmd.Env = env
		out, _ := cmd.Output()
		return out
	}
	for _, socket := range left {
		s, err := client.Local(socket)
		if err != nil {
			continue
		}
		self, err := s.Self(ctx)
		jobs, _, _ := s.API.Jobs().List(nil) // without an answer nothing runs
		s.API.Close()
		if err == nil && self.Agent {
			run("agent", "stop", "--kill", "--data-dir", self.DataDir)
			continue
		}
		for _, j := range jobs { // also those that were dispatched
			run("stop", j.ID)
		}
	}
	if len(left) == 0 { // a keeper waits for the next agent
		run("agent", "--detach")
		run("agent", "stop", "--kill")
	}
}

// backgroundRun is a run in the background as ps shows it.
type backgroundRun struct {
	Type, Job string
	PID       int // of its keeper
}

func runsIn(ps []byte) (runs []backgroundRun) {
	for line := range bytes.Lines(ps) {
		var r backgroundRun
		if json.Unmarshal(line, &r) == nil && r.Type == "run" {
			runs = append(runs, r)
		}
	}
	return runs
}

// crash is the script command
//
//	crash   kill the engine of the only run in the background; its keeper starts another one
func crash(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: crash")
	}
	ts.Check(ts.Exec("taskrun", "ps", "--output", "json"))
	runs := runsIn([]byte(ts.ReadFile("stdout")))
	if len(runs) != 1 {
		ts.Fatalf("there are %d runs", len(runs))
	}
	parent := fmt.Sprintf("\nPPid:\t%d\n", runs[0].PID)
	for _, pid := range processes(func(args string) bool { return strings.HasPrefix(args, "taskrun engine ") }) {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if bytes.Contains(status, []byte(parent)) {
			ts.Check(syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
	ts.Fatalf("process %d has no engine", runs[0].PID)
}

// keepersOf returns the keepers of a process of this program.
func keepersOf(pid int) []int {
	return processes(func(args string) bool { return args == fmt.Sprint("taskrun keeper of ", pid) })
}

// processes returns the processes with wanted arguments, on systems with /proc.
func processes(wanted func(args string) bool) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if wanted(strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// end sends the run a signal and waits until it is gone.
func (p *engineProcess) end(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return err
	}
	kill := time.AfterFunc(scriptTime, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	for range p.states { // until stdout is closed
	}
	_ = p.cmd.Wait() // its exit code is another journey
	return nil
}
