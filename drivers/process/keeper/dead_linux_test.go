package keeper

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"taskrun/drivers/process"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/runtimedir"
	"taskrun/engine/leaf/scratch"
)

// findOne returns the only dead run, with these lines in its record.
func findOne(t *testing.T, lines ...string) *Dead {
	t.Helper()
	dir := private(t)
	if err := os.WriteFile(filepath.Join(dir, "1"+suffix), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other"), []byte(lines[0]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dead, err := FindDead(dir)
	if err != nil || len(dead) != 1 {
		t.Fatalf("%d runs, %v", len(dead), err)
	}
	t.Cleanup(func() { _ = dead[0].Close() })
	return dead[0]
}

// The jobs of a dead run are sorted.
func TestDeadRun(t *testing.T) {
	t.Parallel()
	d := findOne(t, "program 7 8 x", `dir "/w/b/runs/1"`, `dir "/w/a%2Fc/runs/2"`)
	if d.PID != 7 || !slices.Equal(d.Jobs, []string{"a/c", "b"}) {
		t.Errorf("process %d, jobs %q", d.PID, d.Jobs)
	}
}

// Processes from before a reboot are ignored, and so is a mark that another
// program has taken since; the evidence of a session counts.
func TestProcessesOfADeadRun(t *testing.T) { // not parallel: its children have the mark of this program
	number, _ := process.Mark()
	started := startChild(t, "", true)
	line := processLine(started.ID, "a/t")
	now := "program 1 1 " + bootID()
	for name, c := range map[string]struct {
		lines []string
		found bool
	}{
		"another boot":      {[]string{"program 1 1 x", line}, false},
		"session":           {[]string{now, line}, true},
		"none":              {[]string{now}, false},
		"mark of another":   {[]string{now, fmt.Sprint("mark ", number)}, false},
		"mark nobody bears": {[]string{now, "mark 1025"}, false},
	} {
		found := findOne(t, c.lines...).Processes()
		if c.found != (len(found) == 1 && found[0].ID == started.ID) {
			t.Errorf("%s: found are %+v", name, found)
		}
		d := findOne(t, c.lines...)
		if c.found {
			continue
		}
		if killed, err := d.Sweep(t.Context(), cleaner, false); len(killed) > 0 || err != nil || !started.Running() {
			t.Errorf("%s: killed are %+v, %v", name, killed, err)
		}
	}
	d := findOne(t, now, line)
	if killed, err := d.Sweep(t.Context(), cleaner, false); len(killed) != 1 || err != nil || started.Running() {
		t.Errorf("killed are %+v, %v", killed, err)
	}
}

// A free mark stays claimed from the first search until the run is closed.
func TestMarkIsClaimed(t *testing.T) {
	t.Parallel()
	mark := 1<<41 + uint64(os.Getpid()) // no other run draws it
	free := func() bool {
		f, free := process.ClaimMark(mark)
		if f != nil {
			f.Close()
		}
		return free
	}
	d := findOne(t, "program 1 1 "+bootID(), fmt.Sprint("mark ", mark))
	for range 2 {
		if found := d.Processes(); len(found) > 0 || d.contents.mark != mark || free() {
			t.Errorf("found are %+v; the mark %d is free: %t", found, d.contents.mark, free())
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	waitFor(t, "the mark is not free again", free) // processes that start now may have inherited the claim

	d = findOne(t, "program 1 1 x", fmt.Sprint("mark ", mark))
	f, _ := process.ClaimMark(mark)
	defer f.Close()
	if d.claim(); d.contents.mark != 0 {
		t.Error("the mark of another counts")
	}
}

// The processes of a run that another agent continues are not those of the dead run.
// No agent continues it while it is being swept.
func TestDeadRunIsContinued(t *testing.T) {
	t.Parallel()
	alloc := fmt.Sprint("continued-", os.Getpid())
	task := startChild(t, "", true, "NOMAD_ALLOC_ID="+alloc)
	dir, dataDir := t.TempDir(), filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(dir, "alloc", alloc), 0o700); err != nil {
		t.Fatal(err)
	}
	agent, err := datadir.OpenAgent(dataDir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "resident"), []byte(agent.Dir), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := []string{"program 1 1 " + bootID(), fmt.Sprintf("kept %q", dir)}
	if killed, err := findOne(t, lines...).Sweep(t.Context(), cleaner, false); len(killed) > 0 || err != nil || !task.Running() {
		t.Errorf("although an agent continues the run, killed are %+v, %v", killed, err)
	}
	if err := agent.Close(); err != nil {
		t.Fatal(err)
	}
	d := findOne(t, lines...)
	if found := d.Processes(); len(found) != 1 || found[0].ID != task.ID {
		t.Errorf("found are %+v", found)
	}
	if _, holds := datadir.AgentHolds(dataDir); !holds {
		t.Error("an agent may continue the run that is being swept")
	}
	if killed, err := d.Sweep(t.Context(), cleaner, false); len(killed) != 1 || err != nil || task.Running() {
		t.Errorf("killed are %+v, %v", killed, err)
	}
}

// A run that cannot be swept is found again, unless it was the last try.
func TestSweepFails(t *testing.T) {
	t.Parallel()
	for _, last := range []bool{false, true} {
		d := findOne(t, "program 7 8 x", `lasting "fail" "it is busy"`)
		_, err := d.Sweep(t.Context(), cleaner, last)
		if err == nil || err.Error() != "cannot clean up after the run of process 7: it is busy" {
			t.Errorf("error %v", err)
		}
		if gone(d.file.Name())() != last {
			t.Errorf("the last try: %t; the record is gone: %t", last, !last)
		}
		if err := d.Close(); !errors.Is(err, os.ErrClosed) {
			t.Error("it is open")
		}
	}
}

// The sockets are those of live runs.
func TestSockets(t *testing.T) {
	t.Parallel()
	dir := private(t)
	r, err := createRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.file.Close()
	r.put(`socket "/a"`, 0)
	deadRecord(t, filepath.Join(dir, "1"+suffix), "/dead")
	if got := Sockets(dir); !slices.Equal(got, []string{"/a"}) {
		t.Errorf("the sockets are %q", got)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if got := Sockets(dir); got != nil {
		t.Errorf("in a directory that everybody may write to there are %q", got)
	}
}

// The processes of a run are found by all evidence in the record.
func TestRemainsOfARecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, id := range []string{"a", "b"} {
		if err := os.MkdirAll(filepath.Join(dir, "alloc", id), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	one, other := process.ID{PID: 1, Start: 2}, process.ID{PID: 3, Start: 4}
	var c contents
	for _, line := range []string{
		"mark 5", fmt.Sprintf("dir %q", dir), `dir "/nonexistent"`, processLine(one, "a/t"), processLine(other, "b/t"),
		"process x", "intent x", "dir x", "socket x", `lasting "docker"`,
	} {
		c.take(line, cell{})
	}
	want := &process.Remains{Mark: 5, Allocs: map[string]bool{"a": true, "b": true}, Leaders: []process.ID{one, other}}
	if got := c.remains(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if len(c.started) != 2 || len(c.intents) > 0 || len(c.dirs) != 2 || len(c.sockets) > 0 || len(c.lasting) > 0 {
		t.Errorf("lines that say nothing are heeded: %+v", c)
	}
}

// Everything that a run left is removed, even if some of it fails.
func TestCleanUpGoesOn(t *testing.T) {
	t.Parallel()
	socket, dir := deadSocket(t), t.TempDir()
	secret := filepath.Join(dir, "recovery", "secret")
	if err := os.MkdirAll(secret, 0o700); err != nil {
		t.Fatal(err)
	}
	scratch, err := scratch.Make()
	if err != nil {
		t.Fatal(err)
	}
	c := contents{
		boot: bootID(), lasting: []lasting{{"fail", "one"}, {"fail", "two"}}, sockets: []string{"/nonexistent", socket}, dirs: []string{dir},
		scratch: []string{"/nonexistent", scratch},
	}
	if killed, err := c.cleanUp(t.Context(), cleaner); len(killed) > 0 || err == nil || err.Error() != "one\ntwo" {
		t.Errorf("killed %v, %v", killed, err)
	}
	if !gone(socket)() || !gone(secret)() || !gone(scratch)() {
		t.Errorf("the socket is gone: %t, the secret: %t, the scratch directory: %t", gone(socket)(), gone(secret)(), gone(scratch)())
	}
}

// A socket is removed once its dying program stops listening, but not if the
// program continues to listen.
func TestSocketOfADyingProgram(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{true, false} {
		path := deadSocket(t)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		served := make(chan struct{})
		go func() {
			defer close(served)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				conn.Close()
				if dies {
					l.Close()
				}
			}
		}()
		if err := removeSocket(path); err != nil || gone(path)() != dies {
			t.Errorf("it dies: %t; %v, gone: %t", dies, err, gone(path)())
		}
		l.Close()
		<-served
	}
}

// A record without a directory has no name, and is locked like any other.
func TestRecordWithoutADirectory(t *testing.T) {
	t.Parallel()
	r, err := createRecord("")
	if err != nil {
		t.Fatal(err)
	}
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(r.file.Fd()), &stat); err != nil || stat.Nlink != 0 || r.path != "" {
		t.Errorf("it has %d names, path %q, %v", stat.Nlink, r.path, err)
	}
	other, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", r.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := runtimedir.Flock(other, syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("it is not locked: %v", err)
	}
	if c := contentsOf(t, r); c.program != process.Self() || c.at != r.program {
		t.Errorf("it says %+v", c)
	}
	if err := r.remove(); err != nil {
		t.Error(err)
	}
	if err := r.remove(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("when it is removed again: %v", err)
	}
	if _, err := createRecord("/nonexistent"); err == nil || !strings.Contains(err.Error(), "cannot keep a record of the run") {
		t.Errorf("in no directory: %v", err)
	}
}

// The first write error of a record is kept.
func TestRecordWriteFails(t *testing.T) {
	t.Parallel()
	r, err := createRecord("")
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	whole := r.file
	r.file = full
	r.put("mark 1", 0)
	full.Close()
	r.put("mark 2", 0)
	r.file = whole
	r.put("mark 3", 0)
	if !errors.Is(r.err, syscall.ENOSPC) {
		t.Errorf("the error is %v", r.err)
	}
	whole.Close()
}

// A line has room for itself, its end, and its replacement, in as few cells as
// possible.
func TestCells(t *testing.T) {
	t.Parallel()
	r, err := createRecord("")
	if err != nil {
		t.Fatal(err)
	}
	defer r.file.Close()
	for _, c := range []struct{ line, room, size int }{
		{0, 0, 64}, {63, 0, 64}, {64, 0, 128}, {10, 63, 64}, {10, 64, 128}, {127, 64, 128}, {128, 64, 192},
	} {
		before := r.end
		if got := r.put(strings.Repeat("x", c.line), c.room); got != (cell{before, c.size}) || r.end != before+int64(c.size) {
			t.Errorf("%+v: cell %+v, the end is %d", c, got, r.end)
		}
	}
	if info, err := r.file.Stat(); err != nil || info.Size() != r.end || r.err != nil {
		t.Errorf("the file ends at %v, not %d: %v", info.Size(), r.end, r.err)
	}
}
