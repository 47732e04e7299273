package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// endTime limits how long processes of an ended run may live on a busy machine.
const endTime = 20 * time.Second

// nobody is a user without any rights.
const nobody = 65534

// lonely makes the argument of each test's sleep unique.
var lonely atomic.Int64

// stand is a real taskrun with a task whose processes a test counts.
type stand struct {
	*exec.Cmd
	dir     string // for all files
	uid     int
	program string
	sleep   string // command line of the task's processes: a unique sleep
	out     *os.File
	err     bytes.Buffer
	waited  chan struct{}
}

// program is the test binary at a path where every user can execute it.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		return "", err
	}
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "taskrun")
	if err := os.Link(own, path); err != nil { // on another file system
		// By another program: a child that this one forks meanwhile would have
		// the copy open for writing.
		if err := exec.Command("cp", own, path).Run(); err != nil {
			return "", err
		}
	}
	cleanups = append(cleanups, func() { _ = os.RemoveAll(dir) })
	return path, os.Chmod(dir, 0o755)
})

// users returns the users that a test can run as.
func users() map[string]int {
	if os.Geteuid() == 0 {
		return map[string]int{"root": 0, "nobody": nobody}
	}
	return map[string]int{"user": os.Geteuid()}
}

// setUp prepares a run of a shell script, in which SLEEP is a command that
// never ends.
func setUp(t *testing.T, uid int, script string) *stand {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tr") //nolint:usetesting // t.TempDir is too long for sockets, and closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &stand{dir: dir, uid: uid, program: path, waited: make(chan struct{})}
	s.sleep = fmt.Sprintf("sleep %d.%09d", 100000+lonely.Add(1), os.Getpid())
	job := fmt.Sprintf(`job "orphans" {
  type = "batch"
  group "g" {
    task "t" {
      driver       = "raw_exec"
      kill_timeout = "100ms"
      config {
        command = "/bin/sh"
        args    = ["-c", <<-END
          %s
          END
        ]
      }
    }
  }
}
`, strings.ReplaceAll(script, "SLEEP", s.sleep))
	if err := os.WriteFile(s.path("job.nomad.hcl"), []byte(job), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "run", "data"} {
		if err := os.MkdirAll(s.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(s.path(name), uid, -1); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *stand) path(name string) string { return filepath.Join(s.dir, name) }

// command returns a command line of taskrun.
func (s *stand) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "XDG_RUNTIME_DIR=" + s.path("run"), "TASKRUN_DATA_DIR=" + s.path("data"),
		"GORACE=atexit_sleep_ms=0",
		"GOCOVERDIR=" + s.dir, // for tests with coverage
	}
	if s.uid != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}}
	}
	return cmd
}

// up runs the job until the given number of the task's processes sleep.
func (s *stand) up(t *testing.T, sleepers int) {
	t.Helper()
	s.Cmd = s.command("up", "job.nomad.hcl")
	s.Stderr = &s.err
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out, s.Stdout = out, w
	s.ExtraFiles = []*os.File{w} // a descriptor that a user's shell may have left open
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() {
		defer close(s.waited)
		_ = s.Wait()
	}()
	t.Cleanup(func() {
		_ = s.Process.Kill()
		<-s.waited
		s.out.Close()
		for _, pid := range processes(s.isOurs) { // of a failed test
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if t.Failed() {
			t.Logf("taskrun said:\n%s", s.err.String())
		}
	})
	s.until(t, patience, fmt.Sprint(sleepers, " processes sleep"), func() bool { return len(s.sleepers()) >= sleepers })
}

// until waits until f returns true.
func (s *stand) until(t *testing.T, limit time.Duration, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); !f(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("after %v it is not so that %s", limit, what)
		}
	}
}

// sleepers returns the processes that are the unique sleep of this test, under any
// title.
func (s *stand) sleepers() []int {
	return processes(func(args string) bool { return s.isOurs(args) && strings.Count(args, " ") == 1 })
}

// isOurs reports whether a process with these arguments sleeps, or is about to.
func (s *stand) isOurs(args string) bool {
	return strings.HasSuffix(args, strings.TrimPrefix(s.sleep, "sleep"))
}

// keepers returns the keepers of the program.
func (s *stand) keepers() []int { return keepersOf(s.Process.Pid) }

// hasEnded reports whether a process has closed its files: it is a zombie, or
// gone. It loses its memory, and so its arguments, a little earlier.
func hasEnded(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}

// mustBeGone checks that nothing is left of the run within a time limit.
func (s *stand) mustBeGone(t *testing.T) {
	t.Helper()
	began := time.Now()
	s.until(t, endTime, "no process of the task is left", func() bool { return len(processes(s.isOurs)) == 0 })
	s.until(t, endTime, "no keeper is left", func() bool { return len(s.keepers()) == 0 })
	t.Logf("it took %v", time.Since(began).Round(time.Millisecond))
	s.until(t, endTime, "taskrun has ended", func() bool {
		select {
		case <-s.waited:
			return true
		default:
			return false
		}
	})
	if err := s.out.SetReadDeadline(time.Now().Add(endTime)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, s.out); err != nil {
		t.Errorf("somebody has taskrun's output open yet: %v", err)
	}
	if left, _ := filepath.Glob(s.path("run/taskrun/*")); len(left) > 0 {
		record, _ := os.ReadFile(left[0]) // tells why the keeper failed
		t.Errorf("left behind: %v\n%s", left, record)
	}
	for _, pattern := range []string{"secrets", "private", "../alloc/logs/.*"} {
		if left, _ := filepath.Glob(s.path("data/jobs/*/runs/*/alloc/*/t/" + pattern)); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	if lock, err := os.ReadFile(s.path("data/jobs/orphans/lock")); err != nil || len(lock) > 0 {
		t.Errorf("the lock holds %q: %v", lock, err)
	}
}

// hostile are tasks that try not to end, with the number of their processes.
var hostile = map[string]struct {
	script string
	count  int
}{
	"plain":             {`setsid SLEEP & SLEEP & exec SLEEP`, 3},
	"ignores signals":   {`trap "" HUP INT QUIT TERM USR1 USR2 PIPE ALRM; SLEEP & exec SLEEP`, 2},
	"empty environment": {`setsid env -i SLEEP & exec env -i SLEEP`, 2},
	"daemon":            {`(setsid env -i /bin/sh -c 'exec <&- >&- 2>&-; SLEEP & SLEEP & exec SLEEP' &) & exec SLEEP`, 4},
	"forks":             {`(i=0; while [ $i -lt 40 ]; do (setsid env -i SLEEP &); i=$((i+1)); done); exec SLEEP`, 20},
	"holds the pipe":    {`setsid SLEEP & SLEEP`, 2},
	"another title":     {`(exec setsid env -i bash -c 'exec -a "[kworker/0:1]" SLEEP' &); exec SLEEP`, 2},
}

// TestNothingIsLeft ends runs in every way, with tasks that try to survive:
// nothing is left.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid here")
	}
	for user, uid := range users() {
		for name, task := range hostile {
			for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL, syscall.SIGQUIT} {
				t.Run(fmt.Sprintf("%s/%s/%s", user, name, sig), func(t *testing.T) {
					t.Parallel()
					s := setUp(t, uid, task.script)
					s.up(t, task.count)
					s.until(t, patience, "there is a keeper", func() bool { return len(s.keepers()) == 1 })
					if err := s.Process.Signal(sig); err != nil {
						t.Fatal(err)
					}
					s.mustBeGone(t)
				})
			}
		}
	}
}

// A killed keeper is replaced, and the new one does its work.
func TestKeeperIsReplaced(t *testing.T) {
	t.Parallel()
	s := setUp(t, os.Geteuid(), `setsid env -i SLEEP & exec SLEEP`)
	s.up(t, 2)
	var first []int
	s.until(t, patience, "there is a keeper", func() bool { first = s.keepers(); return len(first) == 1 })
	if err := syscall.Kill(first[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until(t, patience, "there is another keeper", func() bool {
		now := s.keepers()
		return len(now) == 1 && !slices.Equal(now, first)
	})
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.mustBeGone(t)
}

// Signals from a terminal, or meant for taskrun, do not end a keeper.
func TestKeeperIgnoresSignals(t *testing.T) {
	t.Parallel()
	s := setUp(t, os.Geteuid(), `exec SLEEP`)
	s.up(t, 1)
	var keepers []int
	s.until(t, patience, "there is a keeper", func() bool { keepers = s.keepers(); return len(keepers) == 1 })
	s.until(t, patience, "it is ready", func() bool {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", keepers[0]))
		return string(status) == "taskrun\n"
	})
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE} {
		if err := syscall.Kill(keepers[0], sig); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.mustBeGone(t)
}

// If run and keeper are killed together, the next command cleans up, reports
// what it killed, and touches nothing else.
func TestNextCommandCleansUp(t *testing.T) {
	t.Parallel()
	for user, uid := range users() {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			s := setUp(t, uid, `setsid env -i SLEEP & exec SLEEP`)
			s.up(t, 2)
			other := setUp(t, uid, `exec SLEEP`)
			other.up(t, 1)
			var keepers []int
			s.until(t, patience, "there is a keeper", func() bool { keepers = s.keepers(); return len(keepers) == 1 })
			// While stopped, neither can react to the death of the other.
			for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
				for _, pid := range []int{s.Process.Pid, keepers[0]} {
					if err := syscall.Kill(pid, sig); err != nil {
						t.Fatal(err)
					}
				}
			}
			<-s.waited
			s.until(t, patience, "the keeper has let go of its files", func() bool { return hasEnded(keepers[0]) })
			if len(s.sleepers()) != 2 {
				t.Fatalf("%d processes of the task are left, not 2", len(s.sleepers()))
			}
			shown, err := s.command("ps", "--orphans").Output()
			if err != nil || strings.Count(string(shown), s.sleep) != 2 || strings.Contains(string(shown), other.sleep) {
				t.Errorf("the orphans are %q, %v", shown, err)
			}
			next := s.command("validate", "job.nomad.hcl")
			var said bytes.Buffer
			next.Stderr = &said
			if err := next.Run(); err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}
			s.mustBeGone(t)
			if got := said.String(); strings.Count(got, s.sleep) != 2 || !strings.Contains(got, "the run of orphans left behind") {
				t.Errorf("it said %q", got)
			}
			if shown, err := s.command("ps", "--orphans", "--output", "json").Output(); err != nil || len(shown) > 0 {
				t.Errorf("then the orphans are %q, %v", shown, err)
			}
			if len(other.sleepers()) != 1 {
				t.Error("the processes of another run were killed")
			}
			said.Reset()
			next = s.command("validate", "job.nomad.hcl")
			next.Stderr = &said
			if err := next.Run(); err != nil || said.Len() > 0 {
				t.Errorf("the second time: %v, %q", err, said.String())
			}
		})
	}
}
