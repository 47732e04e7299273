package process

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// statLine is a line of /proc/PID/stat in the kernel's format, without the
// first two fields.
const statLine = ` S 1 2 3 0 -1 4194304 132 0 0 0 0 0 0 0 20 0 1 0 466371 2560000 346 18446744073709551615 9 8 7 0 0`

func TestParseStat(t *testing.T) {
	t.Parallel()
	want := proc{ID: ID{PID: 5, Start: 466371}, ppid: 1, session: 3}
	for name, c := range map[string]struct {
		line  string
		ended bool
		bad   bool
	}{
		"plain":           {line: "5 (sleep)" + statLine},
		"odd name":        {line: "5 (a) Z 9 (b c)" + statLine},
		"zombie":          {line: "5 (sleep)" + strings.Replace(statLine, " S ", " Z ", 1), ended: true},
		"dying":           {line: "5 (sleep)" + strings.Replace(statLine, " 4194304 ", " 4194316 ", 1), ended: true},
		"others run on":   {line: "5 (x)" + strings.Replace(strings.Replace(statLine, " S ", " Z ", 1), " 20 0 1 ", " 20 0 4 ", 1)},
		"empty":           {bad: true},
		"cut":             {line: "5 (sleep) S 1 2", bad: true},
		"no numbers":      {line: "5 (sleep)" + strings.Repeat(" x", 30), bad: true},
		"nothing to name": {line: ")" + statLine},
	} {
		got, ok := parseStat(5, splitStat([]byte(c.line)))
		if ok == c.bad {
			t.Errorf("%s: ok is %v", name, ok)
		}
		expected := want
		expected.ended = c.ended
		if ok && got != expected {
			t.Errorf("%s: it is %+v, not %+v", name, got, expected)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("5 (sleep)" + statLine))
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if p, ok := parseStat(5, splitStat(line)); ok && p.PID != 5 {
			t.Errorf("%q is process %d", line, p.PID)
		}
	})
}

// whenSure repeats a look at a process that is about to execute its program, or
// to end.
func whenSure[T any](look func() (found T, sure bool)) (found T, sure bool) {
	for limit := time.Now().Add(patience); !sure && time.Now().Before(limit); {
		found, sure = look()
	}
	return found, sure
}

// This process finds itself, in all possible ways.
func TestSelf(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{"A=b", "C="}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	child, self := cmd.Process.Pid, os.Getpid()
	contains := func(pids []int) bool {
		for _, pid := range pids {
			if pid == child {
				return true
			}
		}
		return false
	}
	if p, ok := stat(child); !ok || p.ppid != self || p.session != ownSession() || p.ended {
		t.Errorf("the child is %+v", p)
	}
	if !hasChildrenFiles() {
		t.Log("this kernel has no files of children")
	}
	if !contains(children(self)) || !contains(childrenByTable(table(), self)) {
		t.Errorf("the children are %v or %v, not with %d", children(self), childrenByTable(table(), self), child)
	}
	if tree := treeOf(child); len(tree) != 1 || tree[0].PID != child {
		t.Errorf("the tree is %+v", tree)
	}
	if p := table()[child]; p.ppid != self {
		t.Errorf("in the table the child is %+v", p)
	}
	if _, ok := outsiders(0)[child]; ok {
		t.Error("a child of this session counts as an outsider")
	}
	p, _ := stat(child)
	if env, sure := whenSure(p.environ); !sure || strings.Join(env, " ") != "A=b C= " {
		t.Errorf("the environment is %q, sure: %v", env, sure)
	}
	if err := (proc{ID: ID{PID: child, Start: p.Start + 1}}).kill(); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("a process with another start was killed: %v", err)
	}
	if err := p.kill(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("it ended by %v", err)
	}
	if err := p.kill(); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("a process that is gone was killed: %v", err)
	}
}

// No child is overlooked while others are reaped.
func TestChildrenWhileOthersAreReaped(t *testing.T) {
	t.Parallel()
	if !hasChildrenFiles() {
		t.Skip("this kernel has no files of children")
	}
	runtime.LockOSThread() // it has the children
	defer runtime.UnlockOSThread()
	thread := strconv.Itoa(unix.Gettid())
	start := func(command string, args ...string) int {
		t.Helper()
		p, err := os.StartProcess(command, append([]string{command}, args...), &os.ProcAttr{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Release()
		return p.Pid
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	ended := make([]int, 300)
	for i := range ended {
		ended[i] = start(shell, "-c", "exit")
	}
	lives := start(shell, "-c", "exec sleep 1000")
	var looking sync.WaitGroup
	var looks, missed, twice int
	reaped := make(chan struct{})
	looking.Go(func() {
		for {
			pids, err := childrenOfThread("self", thread)
			if err != nil || !slices.Contains(pids, lives) {
				missed++
			}
			if slices.Sort(pids); len(slices.Compact(pids)) < len(pids) {
				twice++
			}
			looks++
			select {
			case <-reaped:
				return
			default:
			}
		}
	})
	for _, pid := range ended {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != nil {
			t.Error(err)
		}
	}
	close(reaped)
	looking.Wait()
	if missed+twice > 0 {
		t.Errorf("of %d looks %d overlooked a child, and %d found one twice", looks, missed, twice)
	}
	if err := unix.Kill(lives, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(lives, nil, 0, nil); err != nil {
		t.Error(err)
	}
}

// A process is identified until it has ended, even before it is reaped.
func TestIdentify(t *testing.T) {
	t.Parallel()
	if id, err := Identify(os.Getpid()); id != Self() || id.PID != os.Getpid() || err != nil || !id.Running() {
		t.Errorf("this process is %v, %v; not %v", id, err, Self())
	}
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	id, err := Identify(pid)
	if id.PID != pid || err != nil || !id.Running() || (ID{PID: pid, Start: id.Start + 1}).Running() {
		t.Errorf("the child is %v, %v", id, err)
	}
	if err := stdin.Close(); err != nil {
		t.Error(err)
	}
	for _, reaped := range []bool{false, true} {
		if reaped {
			_ = cmd.Wait()
		} else if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
			t.Error(err)
		}
		if got, err := Identify(pid); got != (ID{}) || err == nil || err.Error() != fmt.Sprintf("there is no process %d", pid) || id.Running() {
			t.Errorf("ended, it is %v, %v", got, err)
		}
	}
}

// The start of a process has the unit and the epoch of Now.
func TestNow(t *testing.T) {
	t.Parallel()
	before := Now()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, ok := stat(cmd.Process.Pid) // it is there until it is waited for
	after := Now()
	if err := cmd.Wait(); err != nil || !ok || p.Start < before || p.Start > after {
		t.Errorf("a process started at %d, %t, between %d and %d: %v", p.Start, ok, before, after, err)
	}
}

// No descriptor stays open after the end of a process.
func TestDescriptors(t *testing.T) { // not parallel: it counts those of the program
	run := newRun(t)
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "NOMAD_ALLOC_ID=" + rand.Text(), "NOMAD_TASK_NAME=task"}
	var before int
	for i := range 20 {
		p, err := run.Start(Spec{Path: "/bin/sh", Args: []string{"-c", "sleep 1000 & setsid sleep 1000 &"}, Env: env, Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Start(Spec{Path: "/no/such/program", Dir: "/"}); err == nil {
			t.Fatal("it started")
		}
		<-p.Gone()
		if i == 0 {
			before = count()
		}
	}
	if after := count(); after > before { // the collector may have closed those of other tests
		t.Errorf("there were %d open descriptors, now there are %d", before, after)
	}
}

// A program that is just being written starts when that is done.
func TestStartWhileBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "program")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("#!/bin/sh\nexit 4\n"); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, func() { f.Close() })
	p, err := newRun(t).Start(Spec{Path: path, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if status, _ := p.Status(); status.ExitCode != 4 {
		t.Errorf("it ended with %+v", status)
	}
}

// A scan examines other sessions, but not the kernel's threads.
func TestOutsiders(t *testing.T) { // not parallel: the reaper of runs would take it for an orphan
	id := sleeping(t)
	all := outsiders(0)
	for _, p := range []proc{all[id.PID], outsiders(id.Start)[id.PID]} {
		if p.ID != id || p.session != id.PID {
			t.Errorf("the leader of another session is %+v", p)
		}
	}
	for _, p := range outsiders(id.Start + 1) {
		if p.session == id.PID {
			t.Errorf("process %d of an older session is among them", p.PID)
		}
	}
	for pid, p := range all {
		if p.session == 0 || p.session == ownSession() {
			t.Errorf("process %d of session %d is among them", pid, p.session)
		}
	}
}

// The children of the first thread are not those that other threads have started,
// where the kernel tells them apart.
func TestChildrenOfOtherThreads(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())); err != nil {
		t.Skipf("this kernel does not tell them apart: %v", err)
	}
	child := exec.Command("sleep", "1000")
	started := make(chan error, 1)
	var start func()
	start = func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if unix.Gettid() != os.Getpid() {
			started <- child.Start()
			return
		}
		done := make(chan struct{})
		go func() { // on another thread
			defer close(done)
			start()
		}()
		<-done
	}
	go start()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	if slices.Contains(childrenOfFirstThread(os.Getpid()), child.Process.Pid) {
		t.Error("a child of another thread is one of the first")
	}
	if !slices.Contains(childrenByTable(table(), os.Getpid()), child.Process.Pid) {
		t.Error("it is no child at all")
	}
}

// The children of all threads are known, unless a thread ends meanwhile.
func TestOwnChildren(t *testing.T) {
	t.Parallel()
	if !hasChildrenFiles() {
		t.Skip("this kernel has no files of children")
	}
	p, err := newRun(t).Start(Spec{Path: "/bin/sleep", Args: []string{"1000"}, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = p.Kill()
		<-p.Gone()
	}()
	known := false
	for range 1000 {
		pids, all := ownChildren()
		if known = all && slices.Contains(pids, p.Pid()); known {
			break
		}
	}
	if !known {
		t.Error("they are never all known")
	}
}
