package process

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A run of helpers ends its own processes, and other runs do not end them.
func TestHelpers(t *testing.T) {
	t.Parallel()
	helpers, tasks := NewHelpers(), newRun(t)
	sleep := Spec{Path: "/bin/sleep", Args: []string{"1000"}, Dir: "/"}
	helper, err := helpers.Start(sleep)
	if err != nil {
		t.Fatal(err)
	}
	startIn(t, tasks, "exit 0").mustEndWith(t, 0, 0)
	if n, err := tasks.Shutdown(t.Context()); n != 0 || err != nil || !helper.ID().Running() {
		t.Errorf("with the tasks %d were killed, %v; the helper runs: %t", n, err, helper.ID().Running())
	}
	if n, err := helpers.Shutdown(t.Context()); n != 1 || err != nil {
		t.Errorf("%d were killed, %v", n, err)
	}
	<-helper.Gone()
	if status, _ := helper.Status(); status.Signal != 9 {
		t.Errorf("it ended as %+v", status)
	}
	if _, err := helpers.Start(sleep); !errors.Is(err, errShutdown) {
		t.Errorf("after the end: %v", err)
	}
	if n, err := NewHelpers().Shutdown(t.Context()); n != 0 || err != nil {
		t.Errorf("without helpers %d were killed, %v", n, err)
	}
}

// journal records calls.
type journal struct {
	tags   []string
	called []string
}

func (j *journal) Intend(tag string) Entry { j.tags = append(j.tags, tag); return j }
func (j *journal) Recall(ID) Entry         { return j }
func (j *journal) Started(ID)              { j.called = append(j.called, "started") }
func (j *journal) Remove()                 { j.called = append(j.called, "removed") }

// The journal contains each task, from its intent to its end, and no helpers.
func TestJournal(t *testing.T) { // not parallel: the whole program has one journal
	j := &journal{}
	SetJournal(j)
	defer SetJournal(nil)
	helpers, run := NewHelpers(), newRun(t)
	if _, err := helpers.Start(Spec{Path: "/bin/sleep", Args: []string{"1000"}, Dir: "/"}); err != nil {
		t.Fatal(err)
	}
	if _, err := helpers.Shutdown(t.Context()); err != nil || len(j.tags)+len(j.called) > 0 {
		t.Errorf("of helpers it is told %q, %q, %v", j.tags, j.called, err)
	}
	env := []string{"NOMAD_ALLOC_ID=a", "NOMAD_TASK_NAME=t"}
	p, err := run.Start(Spec{Path: "/bin/true", Dir: "/", Env: env})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Gone()
	if _, err := run.Start(Spec{Path: "/no/such/program", Dir: "/", Env: env}); err == nil {
		t.Error("what is not there was started")
	}
	if want := []string{"started", "removed", "removed"}; !slices.Equal(j.called, want) || !slices.Equal(j.tags, []string{"a/t", "a/t"}) {
		t.Errorf("it is told %q, %q", j.tags, j.called)
	}
}

// A mark belongs to one run at a time, and only processes with it inherit it.
func TestClaimMark(t *testing.T) {
	t.Parallel()
	number := 1<<41 + uint64(os.Getpid()) // no run draws it
	f, free := ClaimMark(number)
	if f == nil || !free {
		t.Fatalf("the mark is free, but: %v, %t", f, free)
	}
	if other, free := ClaimMark(number); other != nil || free {
		t.Errorf("it is claimed twice: %v, %t", other, free)
	}
	f.Close()
	for deadline := time.Now().Add(patience); ; <-time.After(time.Millisecond) { // a process that starts now may have inherited it
		if f, free = ClaimMark(number); free {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it is not free again")
		}
	}
	defer f.Close()
	if InheritMark(number, f) {
		t.Error("a mark that this program does not bear is inherited")
	}
	if own, claim := Mark(); own == number || own != 0 && claim == nil {
		t.Errorf("the mark is %d, %v", own, claim)
	}
	if hasMark(os.Getpid(), 0) || hasMark(os.Getpid(), number) || hasMark(1<<30, number) {
		t.Error("a process has a mark that it does not bear")
	}
	if own := markOf(os.Getpid()); !hasMark(os.Getpid(), own) {
		t.Errorf("it does not bear %d", own)
	}
}

// The same number on a process of another user is no mark, except for root.
func TestMarkOfAnotherUser(t *testing.T) {
	t.Parallel()
	first, err := os.Stat("/proc/1")
	if err != nil || first.Sys().(*syscall.Stat_t).Uid == uint32(os.Getuid()) && os.Geteuid() != 0 {
		t.Skip("the first process is not another user's, as in a container")
	}
	text, _ := os.ReadFile("/proc/1/limits")
	_, rest, _ := strings.Cut(string(text), "Max msgqueue size")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		t.Skip("the limits of the first process cannot be read")
	}
	number, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		t.Skip(err)
	}
	if got := hasMark(1, number); got != (os.Geteuid() == 0) {
		t.Errorf("the first process has the mark %d: %v", number, got)
	}
}

// The hint for a failed start depends on its cause.
func TestStartFailures(t *testing.T) {
	t.Parallel()
	user := &syscall.Credential{Uid: 7}
	for _, c := range []struct {
		spec Spec
		err  error
		want string
	}{
		{Spec{Path: "/p"}, syscall.EIO, `cannot start "/p": input/output error`},
		{Spec{Path: "/p"}, syscall.ENOEXEC, "(a script must begin with #! and its interpreter)"},
		{Spec{Path: "/proc", Dir: "/"}, syscall.ENOENT, "(the interpreter or loader that it names does not exist)"},
		{Spec{Path: "/no/such", Dir: "/"}, syscall.ENOENT, `cannot start "/no/such": no such file or directory`},
		{Spec{Path: "/proc", Dir: "/no/such"}, syscall.ENOENT, `cannot start "/proc": no such file or directory`},
		{Spec{Path: "/p"}, syscall.EPERM, `cannot start "/p": operation not permitted`},
		{Spec{Path: "/p", Credential: user}, syscall.EPERM, "(only root may start a process as user 7)"},
		{Spec{Path: "/p"}, syscall.EACCES, `cannot start "/p": permission denied`},
		{Spec{Path: "/p", Dir: "/d", Credential: user}, syscall.EACCES, `(user 7 must be able to execute it, and to enter "/d" and every directory above)`},
		{Spec{Path: "/p", Cgroup: os.Stdin}, syscall.ENOEXEC, "(in cgroup "},
	} {
		err := c.spec.explain(c.err)
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.want) || strings.Contains(c.want, "cannot") && err.Error() != c.want {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A peak is unknown if it is not higher than the shared memory, or only within
// the inaccuracy of counting.
func TestSurePeak(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ peak, shadow, own, want int64 }{
		{10, 8, 100, 10}, {10, 9, 100, 0}, {10, 10, 100, 0}, {10, 11, 8, 10}, {10, 11, 9, 0}, {10, noShadow, 8, 0},
	} {
		c.peak, c.own, c.want = c.peak*inexact, c.own*inexact, c.want*inexact
		if c.shadow != noShadow {
			c.shadow *= inexact
		}
		if got := (&Process{shadow: c.shadow}).surePeak(c.peak, func() int64 { return c.own }); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	if got := maxRSS(unix.Rusage{Maxrss: 3}); got != 3072 {
		t.Errorf("3 KiB are %d bytes", got)
	}
	if got := ownPeakRSS(); got < 1<<20 || got > 1<<40 {
		t.Errorf("this program has had %d bytes", got)
	}
}

// A program that is a keeper sees its children, running and ended, until it
// buries them.
func TestOrphans(t *testing.T) { // not parallel: the reaper of runs would bury them
	if !AdoptOrphans() {
		t.Error("this system gives no orphans")
	}
	find := func(list []Orphan, pid int) *Orphan {
		if i := slices.IndexFunc(list, func(o Orphan) bool { return o.PID == pid }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for _, leads := range []bool{true, false} {
		cmd := exec.Command("/bin/sh", "-c", "read x; exit 3")
		cmd.Env = []string{"NOMAD_ALLOC_ID=a", "NOMAD_TASK_NAME=t", SessionVar + "=s"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: leads}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := cmd.Process.Pid
		o := find(Orphans(), pid)
		if o == nil || o.ID != identify(pid) || o.Leader != leads || o.Ended || find(EndedOrphans(), pid) != nil || !o.Running() {
			t.Fatalf("alive it is %+v", o)
		}
		if tag, sure := whenSure(o.Tag); tag != "a/t/s" || !sure {
			t.Errorf("its tag is %q, %t", tag, sure)
		}
		ended := o.ID.Ended()
		select {
		case <-ended:
			t.Error("it has ended before its end")
		default:
		}
		in.Close()
		<-ended
		o, _ = whenSure(func() (*Orphan, bool) {
			o := find(EndedOrphans(), pid)
			return o, o != nil
		})
		if o == nil || !o.Ended || o.Status.ExitCode != 3 || o.Running() {
			t.Fatalf("ended it is %+v", o)
		}
		if tag, sure := o.Tag(); tag != "" || !sure {
			t.Errorf("its tag is %q, %t", tag, sure)
		}
		<-o.ID.Ended()
		Bury(o.ID)
		if find(Orphans(), pid) != nil {
			t.Error("it is not buried")
		}
		_ = cmd.Process.Release() // no one can wait for it now
	}
	if status, at := EndedUnseen(errShutdown); status.ExitCode != -1 || !errors.Is(status.Err, errShutdown) || at.IsZero() {
		t.Errorf("unseen it ended as %+v", status)
	}
	if Settle() != 0 {
		t.Error("without a keeper something was killed")
	}
}
