package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestShown(t *testing.T) {
	t.Parallel()
	if got := shown("sh\x00-c\x00\x1b]0;x\x07\na\u202eb\x00"); got != "sh -c ?]0;x? a?b" {
		t.Errorf("it is shown as %q", got)
	}
}

// sleeping starts a process in its own session that belongs to no run.
func sleeping(t *testing.T, env ...string) ID {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "sleep 1000 & wait")
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id := identify(cmd.Process.Pid)
	t.Cleanup(func() {
		_ = syscall.Kill(-id.PID, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return id
}

// Remains are found by each kind of evidence alone, and nothing else is found.
func TestRemains(t *testing.T) { // not parallel: the reaper of runs would take these for orphans
	alloc := fmt.Sprint("remains-", os.Getpid())
	tagged, led, stranger := sleeping(t, "NOMAD_ALLOC_ID="+alloc), sleeping(t), sleeping(t, "NOMAD_ALLOC_ID=another")
	r := Remains{Allocs: map[string]bool{alloc: true}, Leaders: []ID{led, {PID: stranger.PID, Start: stranger.Start + 1}}}
	seen := map[int]bool{}
	for _, p := range r.Find() {
		seen[p.PID] = true
	}
	if !seen[tagged.PID] || !seen[led.PID] || seen[stranger.PID] || seen[os.Getpid()] {
		t.Errorf("found %v, not %v and %v alone", seen, tagged, led)
	}
	killed, err := r.Kill(t.Context())
	if len(killed) < 2 || err != nil {
		t.Errorf("killed %v, %v", killed, err)
	}
	if tagged.Running() || led.Running() || !stranger.Running() {
		t.Error("not those are left that should be")
	}
}

// Processes that could not be killed are named while they run, lowest PID first.
func TestProcessesThatCannotBeKilled(t *testing.T) {
	t.Parallel()
	self, parent := Self(), identify(os.Getppid())
	ended := ID{PID: self.PID, Start: self.Start + 1}
	first, second := min(self.PID, parent.PID), max(self.PID, parent.PID)
	want := fmt.Sprintf("cannot kill process %d: operation not permitted\ncannot kill process %d: operation not permitted", first, second)
	for range 20 { // maps have no order
		got := joinErrors(map[ID]error{self: syscall.EPERM, ended: syscall.EPERM, parent: syscall.EPERM})
		if got == nil || got.Error() != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if err := joinErrors(map[ID]error{ended: syscall.EPERM}); err != nil {
		t.Errorf("the process has ended: %v", err)
	}
}

// A session whose number is now the PID of another process does not belong to the
// run.
func TestReusedSession(t *testing.T) { // not parallel, see TestRemains
	id := sleeping(t)
	for _, tt := range []struct {
		leader ID
		found  bool
	}{{id, true}, {ID{id.PID, id.Start - 1}, false}} {
		r := Remains{sessions: map[int]ID{id.PID: tt.leader}}
		if found := len(r.Find()) > 0; found != tt.found {
			t.Errorf("process %v in the session of %v: found %t", id, tt.leader, found)
		}
	}
}

// A process that began after another one is not its parent.
func TestParentIn(t *testing.T) {
	t.Parallel()
	child := proc{ID: ID{PID: 3, Start: 10}, ppid: 2}
	for start, want := range map[uint64]bool{9: true, 10: true, 11: false} {
		parent, ok := child.parentIn(map[int]proc{2: {ID: ID{PID: 2, Start: start}}})
		if ok != want || parent.Start != start {
			t.Errorf("began at %d: %v, %t", start, parent, ok)
		}
	}
	if _, ok := child.parentIn(nil); ok {
		t.Error("nobody is its parent")
	}
}
