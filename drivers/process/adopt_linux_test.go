package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// outlived is a task whose engine was killed, so that it is a child of this
// program now. It ends with code 7 after a write to fifo.
type outlived struct {
	id   ID
	env  []string
	fifo string
}

func outlive(t *testing.T) outlived {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	newRun(t).adoptOrphans(t)
	e := startEngine(t, `exec 3<>`+fifo+`; echo task $$; read line <&3; exit 7`)
	var pid int
	if _, err := fmt.Sscan(e.line(t, "task "), &pid); err != nil {
		t.Fatal(err)
	}
	e.cmd.Process.Kill()
	e.cmd.Wait()
	return outlived{
		id: identify(pid), fifo: fifo,
		env: []string{fmt.Sprint("NOMAD_ALLOC_ID=", e.cmd.Process.Pid), "NOMAD_TASK_NAME=task"},
	}
}

// adoptOrphans makes this program adopt orphans until the test ends.
func (r *Run) adoptOrphans(t *testing.T) {
	t.Helper()
	startIn(t, r, "exit 0").mustEndWith(t, 0, 0)
}

func (o outlived) end(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(o.fifo, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
}

// A process of a dead engine is adopted with all operations, and found by its
// environment.
func TestAdopt(t *testing.T) {
	t.Parallel()
	o := outlive(t)
	if id, err := Find(o.env); id != o.id || err != nil {
		t.Errorf("found %v, %v; it is %v", id, err, o.id)
	}
	told := make(chan Status, 1)
	p, err := newRun(t).Adopt(Adoption{ID: o.id, Env: o.env, OnExit: func(s Status, _ time.Time) { told <- s }})
	if err != nil {
		t.Fatal(err)
	}
	if id, err := Find(o.env); !errors.Is(err, ErrUnknown) {
		t.Errorf("when it is adopted it is found again: %v, %v", id, err)
	}
	if err := p.Signal(syscall.Signal(0)); err != nil {
		t.Error(err)
	}
	if tree := p.tree(); len(tree) != 1 || tree[0].PID != p.Pid() {
		t.Errorf("its tree is %v", tree)
	}
	o.end(t)
	<-p.Gone()
	if status, at := p.Status(); status.ExitCode != 7 || at.IsZero() {
		t.Errorf("it ended with %+v at %v", status, at)
	}
	if status := <-told; status.ExitCode != 7 {
		t.Errorf("its owner was told %+v", status)
	}
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("after the end the error is %v", err)
	}
}

// An adopted process is killed like any other, with its descendants.
func TestAdoptAndKill(t *testing.T) {
	t.Parallel()
	o := outlive(t)
	p, err := newRun(t).Adopt(Adoption{ID: o.id, Env: o.env})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Gone()
	if status, _ := p.Status(); status.Signal != 9 {
		t.Errorf("it ended with %+v", status)
	}
}

// Only a process of the run is adopted, not one that has got its PID since, or
// one whose end would remain unknown.
func TestAdoptUnknown(t *testing.T) {
	t.Parallel()
	o := outlive(t)
	run := newRun(t)
	for name, id := range map[string]ID{
		"number used again": {PID: o.id.PID, Start: o.id.Start + 1},
		"parent":            identify(os.Getppid()),
		"none":              {PID: 1 << 30},
		"zero":              {},
	} {
		if p, err := run.Adopt(Adoption{ID: id, Env: o.env}); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	if id, err := Find([]string{"NOMAD_ALLOC_ID=none", "NOMAD_TASK_NAME=none"}); !errors.Is(err, ErrUnknown) {
		t.Errorf("found %v, %v", id, err)
	}
	p, err := run.Adopt(Adoption{ID: o.id, Env: o.env})
	if err != nil {
		t.Fatal(err)
	}
	o.end(t)
	<-p.Gone()
}

// One run takes a process over from another, whether it is still running or
// not, and both learn of its end.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"read line", "exit 3"} {
		first, second := newRun(t), newRun(t)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan int, 2)
		tell := func(s Status, _ time.Time) { told <- s.ExitCode }
		p, err := first.Start(Spec{Path: "/bin/sh", Args: []string{"-c", script + "; exit 3"}, Dir: "/", Stdin: r, OnExit: tell})
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		q, err := second.Adopt(Adoption{ID: p.ID(), OnExit: tell})
		switch {
		case err == nil:
			if killed, err := first.Shutdown(t.Context()); killed != 0 || err != nil {
				t.Errorf("the first run killed %d: %v", killed, err)
			}
		case script == "read line" || !errors.Is(err, ErrUnknown): // the other may be gone by now
			t.Fatal(err)
		}
		w.Close()
		<-p.Gone()
		if code := <-told; code != 3 {
			t.Errorf("the code is %d", code)
		}
		if q != nil && <-told != 3 {
			t.Error("the code is another for the second run")
		}
	}
}

// recordKeeper has a child according to its record, which may be outdated.
type recordKeeper struct {
	child Child
	ended atomic.Bool
}

func (*recordKeeper) PID() int          { return -1 }
func (*recordKeeper) Children() []Child { return nil }
func (*recordKeeper) Reap(ID)           {}

func (k *recordKeeper) Child(id ID) (Child, bool) {
	child := k.child
	child.Ended = k.ended.Load()
	return child, id == child.ID
}

// A signal for a child of a keeper never reaches another process with its PID:
// the PID is free as soon as the keeper is gone.
func TestSignalSparesAnotherOfTheSameNumber(t *testing.T) { // not parallel: the whole program has one keeper
	now := exec.Command("sleep", "1000")
	if err := now.Start(); err != nil {
		t.Fatal(err)
	}
	id := identify(now.Process.Pid)
	k := &recordKeeper{child: Child{ID: ID{PID: id.PID, Start: id.Start - 1}, EndedAt: time.Now()}}
	tell := SetKeeper(k)
	defer func() { SetKeeper(nil) }()
	p, err := newRun(t).Adopt(Adoption{ID: k.child.ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(0); err != os.ErrProcessDone {
		t.Errorf("%v has the number of %v: a signal gives %v", id, k.child.ID, err)
	}
	k.ended.Store(true)
	tell(0)
	<-p.Gone()
	if err := now.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := now.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the process of that number ended with %v", err)
	}
}

// busyKeeper has one child that has ended, and reads nothing while it has
// something to send, like a keeper whose socket is full.
type busyKeeper struct {
	child Child
	tell  func(reaped int)
	told  chan bool
}

func (*busyKeeper) PID() int                    { return -1 }
func (k *busyKeeper) Child(id ID) (Child, bool) { return k.child, id == k.child.ID }
func (k *busyKeeper) Children() []Child         { return []Child{k.child} }

func (k *busyKeeper) Reap(ID) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.tell(0)
	}()
	select {
	case <-done:
		k.told <- true
	case <-time.After(time.Minute):
		k.told <- false
	}
}

// A keeper can send the ends of processes while it receives one. If hundreds of
// tasks end together, both sides of its socket would otherwise wait for each
// other.
func TestKeeperSendsWhileItReceives(t *testing.T) { // not parallel: the whole program has one keeper
	k := &busyKeeper{
		child: Child{ID: ID{PID: 1 << 30, Start: 1}, Ended: true, Status: Status{ExitCode: 7}, EndedAt: time.Now()},
		told:  make(chan bool, 1),
	}
	k.tell = SetKeeper(k)
	defer func() { SetKeeper(nil) }()
	p, err := newRun(t).Adopt(Adoption{ID: k.child.ID})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Gone()
	if status, _ := p.Status(); status.ExitCode != 7 {
		t.Errorf("it ended with %+v", status)
	}
	if !<-k.told {
		t.Error("the keeper had to wait until it was told")
	}
}
