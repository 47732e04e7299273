package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// started is a process of a test.
type started struct {
	*Process
	out   *os.File // its output; ends when all its descendants have ended
	timer *time.Timer
}

// start starts a shell with a script in its own run.
func start(t *testing.T, script string) started {
	t.Helper()
	return startIn(t, newRun(t), script)
}

func newRun(t testing.TB) *Run {
	run := NewRun()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if n, err := run.Shutdown(ctx); n != 0 || err != nil {
			t.Errorf("at the end %d processes were killed: %v", n, err)
		}
	})
	return run
}

func startIn(t *testing.T, run *Run, script string) started {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := run.Start(Spec{
		Path: "/bin/sh", Args: []string{"-c", script},
		Env: []string{"PATH=" + os.Getenv("PATH"), fmt.Sprint("NOMAD_ALLOC_ID=", t.Name(), os.Getpid()), "NOMAD_TASK_NAME=task"},
		Dir: "/", Stdout: w, Stderr: w,
	})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	s := started{Process: p, out: r}
	s.timer = time.AfterFunc(patience, func() {
		t.Error("it took too long")
		p.Kill()
		r.Close()
	})
	t.Cleanup(func() { s.timer.Stop(); r.Close() })
	return s
}

// rest reads the output until all processes that could write have ended.
func (s started) rest(t *testing.T) string {
	t.Helper()
	out, err := io.ReadAll(s.out)
	if err != nil {
		t.Errorf("something that process %d started lives: %v", s.id.PID, err)
	}
	return string(out)
}

// await reads until a text.
func (s started) await(t *testing.T, text string) {
	t.Helper()
	var got strings.Builder
	for b := make([]byte, 1); !strings.Contains(got.String(), text); got.Write(b) {
		if _, err := s.out.Read(b); err != nil {
			t.Fatalf("%q did not come: %v", text, err)
		}
	}
}

func (s started) mustEndWith(t *testing.T, code, signal int) {
	t.Helper()
	<-s.Gone()
	if err := s.Err(); err != nil {
		t.Error(err)
	}
	if status, at := s.Status(); status.ExitCode != code || status.Signal != signal || at.IsZero() {
		t.Errorf("it ended with %+v at %v, not with code %d, signal %d", status, at, code, signal)
	}
}

// Processes that a process leaves behind when it ends by itself are killed.
func TestTreeDiesWithProcess(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"nothing":               ``,
		"child":                 `sleep 1000 &`,
		"children":              `sleep 1000 & sleep 1000 & sleep 1000 &`,
		"grandchild":            `sh -c "sleep 1000 & wait" &`,
		"session":               `setsid sleep 1000 &`,
		"double fork":           `(sleep 1000 &)`,
		"daemon":                `(setsid sh -c "setsid sleep 1000 & wait" &)`,
		"ignores every signal":  `sh -c 'trap "" HUP INT QUIT TERM USR1 USR2 PIPE; echo ready; while :; do sleep 1000; done' & `,
		"writes":                `(while :; do echo x; done) &`,
		"forks for a while":     `(i=0; while [ $i -lt 300 ]; do sleep 1000 & i=$((i+1)); done; wait) &`,
		"forks in sessions":     `(i=0; while [ $i -lt 100 ]; do setsid sleep 1000 & i=$((i+1)); done; wait) &`,
		"moves on":              `hop() { [ $1 -gt 0 ] && (hop $(($1-1)) &) || exec sleep 1000; }; hop 100 &`,
		"empty env, own parent": `sh -c "env -i sleep 1000 & wait" &`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, script+"\nexit 3")
			p.mustEndWith(t, 3, 0)
			p.rest(t)
		})
	}
}

// Processes that a killed process has started are killed with it, even without
// any evidence.
func TestKill(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"alone":        `echo ready`,
		"child":        `sleep 1000 & echo ready`,
		"without sign": `setsid env -i /bin/sh -c "setsid sleep 1000 & echo ready; wait" &`,
		"trap":         `trap "" HUP INT QUIT TERM USR1 USR2; echo ready`,
		"stopped":      `echo ready; kill -STOP $$`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, script+"\nwhile :; do sleep 1000; done")
			p.await(t, "ready")
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			p.mustEndWith(t, 137, 9)
			p.rest(t)
			if err := p.Kill(); err != nil {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}

// A daemon of a running process is left alone when another process ends.
func TestTreeOfAnotherLives(t *testing.T) {
	t.Parallel()
	run := newRun(t)
	for name, script := range map[string]string{
		"by session":     `(sh -c 'echo ready; read x; echo alive' <&3 &)`,
		"by environment": `(setsid sh -c 'echo ready; read x; echo alive' <&3 &)`,
		"without sign":   `(setsid env -i sh -c 'echo ready; read x; echo alive' <&3 &)`,
	} {
		t.Run(name, func(t *testing.T) {
			fifo := t.TempDir() + "/fifo"
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			p := startIn(t, run, `exec 3<>`+fifo+"\n"+script+"\nsleep 1000")
			p.await(t, "ready")
			startIn(t, run, `sleep 1000 &`).mustEndWith(t, 0, 0)
			if err := os.WriteFile(fifo, []byte("\n"), 0); err != nil {
				t.Fatal(err)
			}
			p.await(t, "alive")
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			p.mustEndWith(t, 137, 9)
			p.rest(t)
		})
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]Status{
		"exit 0":        {},
		"exit 1":        {ExitCode: 1},
		"exit 255":      {ExitCode: 255},
		"kill -TERM $$": {ExitCode: 143, Signal: 15},
		"kill -9 $$":    {ExitCode: 137, Signal: 9},
		"kill -ABRT $$": {ExitCode: 134, Signal: 6},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			start(t, script).mustEndWith(t, want.ExitCode, want.Signal)
		})
	}
}

// OnExit is called before the PID is released, and before Done.
func TestOnExit(t *testing.T) {
	t.Parallel()
	told := make(chan Status, 1)
	p, err := newRun(t).Start(Spec{Path: "/bin/sh", Args: []string{"-c", "exit 5"}, Dir: "/", OnExit: func(s Status, _ time.Time) { told <- s }})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	select {
	case status := <-told:
		if status.ExitCode != 5 {
			t.Errorf("it was told %+v", status)
		}
	default:
		t.Error("it was not told before Done was closed")
	}
}

// Many processes that end together all report how.
func TestNoEndIsLost(t *testing.T) {
	t.Parallel()
	run := newRun(t)
	for i := range 300 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			code := i % 256
			p := startIn(t, run, fmt.Sprint("exit ", code))
			<-p.Done()
			if status, _ := p.Status(); status.ExitCode != code {
				t.Errorf("the code is %d, not %d", status.ExitCode, code)
			}
		})
	}
}

// Children of other parts of the program are left to them.
func TestOtherChildren(t *testing.T) {
	t.Parallel()
	run := newRun(t)
	startIn(t, run, "exit 0").mustEndWith(t, 0, 0) // from here on there is a reaper
	slow := exec.Command("/bin/sh", "-c", "exit 9")
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		p := startIn(t, run, "(sleep 0 &); exit 1")
		if err := exec.Command("/bin/sh", "-c", "exit 7").Run(); err == nil || err.Error() != "exit status 7" {
			t.Fatalf("the end of another child is %v", err)
		}
		p.mustEndWith(t, 1, 0)
	}
	if err := slow.Wait(); err == nil || err.Error() != "exit status 9" {
		t.Errorf("the end of a child that was a zombie for long is %v", err)
	}
}

func TestSignal(t *testing.T) {
	t.Parallel()
	p := start(t, `trap "echo usr1; exit 9" USR1; echo ready; while :; do sleep 0.01; done`)
	p.await(t, "ready\n")
	if err := p.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	p.mustEndWith(t, 9, 0)
	if got := p.rest(t); got != "usr1\n" {
		t.Errorf("it wrote %q", strings.TrimSpace(got))
	}
	if err := p.Signal(syscall.SIGUSR1); err != os.ErrProcessDone {
		t.Errorf("after the end the error is %v", err)
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	run := newRun(t)
	if _, err := run.Start(Spec{Path: "/no/such/program", Dir: "/"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
	startIn(t, run, "exit 2").mustEndWith(t, 2, 0)
	if _, err := run.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Start(Spec{Path: "/bin/true", Dir: "/"}); !errors.Is(err, errShutdown) {
		t.Errorf("after Shutdown the error is %v", err)
	}
	if n, err := run.Shutdown(t.Context()); n != 0 || err != nil {
		t.Errorf("the second Shutdown killed %d: %v", n, err)
	}
}

func TestTagOf(t *testing.T) {
	t.Parallel()
	for want, env := range map[string][]string{
		"a/t":   {"X=1", "NOMAD_ALLOC_ID=a", "NOMAD_TASK_NAME=t", "", "nothing"},
		"a/t/s": {"TASKRUN_EXEC_ID=s", "NOMAD_ALLOC_ID=a", "NOMAD_TASK_NAME=t"},
		"":      {"NOMAD_ALLOC_ID=a", "NOMAD_TASK_NAME=", "XNOMAD_TASK_NAME=t"},
	} {
		if got := tagOf(env); got != want {
			t.Errorf("the tag of %q is %q", env, got)
		}
	}
}

// The owner of an orphan is found by its session, or else by memory, or else by
// its environment; running processes come before ended ones.
func TestOwner(t *testing.T) {
	t.Parallel()
	a, b := &Process{id: ID{PID: 1_000_001}}, &Process{id: ID{PID: 1_000_002}}
	stray := proc{ID: ID{PID: 1_000_003, Start: 7}, session: 1_000_003, ppid: 1}
	s := survey{procs: map[int]*Process{a.id.PID: a, b.id.PID: b}, members: map[ID]*Process{{PID: 1_000_004, Start: 8}: b}}
	for name, c := range map[string]struct {
		tree []proc
		want *Process
		sure bool
	}{
		"no sign":           {[]proc{stray}, nil, true},
		"session":           {[]proc{{ID: ID{PID: 1_000_005}, session: a.id.PID}}, a, true},
		"of a descendant":   {[]proc{stray, {ID: ID{PID: 1_000_005}, session: a.id.PID}}, a, true},
		"memory":            {[]proc{{ID: ID{PID: 1_000_004, Start: 8}}}, b, true},
		"its number again":  {[]proc{{ID: ID{PID: 1_000_004, Start: 9}}}, nil, true},
		"session, memory":   {[]proc{{ID: ID{PID: 1_000_004, Start: 8}, session: a.id.PID}}, a, true},
		"ended":             {[]proc{{ID: stray.ID, ppid: os.Getpid(), ended: true}}, nil, false},
		"ended, not orphan": {[]proc{{ID: stray.ID, ppid: 1, ended: true}}, nil, true},
	} {
		if got, sure := s.owner(c.tree); got != c.want || sure != c.sure {
			t.Errorf("%s: the owner is %p, sure %v, not %p", name, got, sure, c.want)
		}
	}
}

// A census finds the trees of all processes, wherever their members moved.
func TestCensus(t *testing.T) {
	t.Parallel()
	run := newRun(t)
	p := startIn(t, run, `sleep 1000 & (setsid sleep 1000 &) ; setsid env -i /bin/sleep 1000 & echo ready; wait`)
	p.await(t, "ready")
	t.Run("another", func(t *testing.T) {
		other := startIn(t, newRun(t), "setsid sleep 1000 & echo ready; wait")
		other.await(t, "ready")
		var pids []int
		for deadline := time.Now().Add(patience); len(pids) != 4; { // the shell, and each sleep once it has executed
			trees := run.Census()
			if pids = trees[p.Process]; len(trees) != 1 || time.Now().After(deadline) {
				t.Fatalf("the trees are %v, not one of four", trees)
			}
		}
		if err := other.Kill(); err != nil {
			t.Fatal(err)
		}
		other.rest(t)
	})
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	p.rest(t)
	<-p.Gone()
	if trees := run.Census(); len(trees) != 0 {
		t.Errorf("after the end there are %v", trees)
	}
}

// The peak of a process is reported if it is sure to be its own.
func TestPeakRSS(t *testing.T) {
	t.Parallel()
	run := newRun(t)
	size := ownPeakRSS() + 100e6
	small, large := startIn(t, run, "exit 0"), startIn(t, run, fmt.Sprintf("head -c %d /dev/zero | tail -c %d | wc -c", size, size))
	small.mustEndWith(t, 0, 0)
	large.mustEndWith(t, 0, 0)
	if s, _ := small.Status(); s.PeakRSS != 0 {
		t.Errorf("a small process had %d bytes", s.PeakRSS)
	}
	if s, _ := large.Status(); s.PeakRSS < size || s.PeakRSS > 3*size {
		t.Errorf("a large process had %d bytes", s.PeakRSS)
	}
}
