package keeper

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"taskrun/drivers/process"
)

// linked returns both ends of a connection, the program's and the keeper's.
func linked(t *testing.T) (*link, *line) {
	t.Helper()
	keeper, program := lines(t)
	return &link{line: program, pid: 42, children: map[process.ID]process.Child{}, held: map[string]*os.File{}}, keeper
}

// A child is a process of the test that ends when end is called.
type aChild struct {
	process.ID
	cmd *exec.Cmd
	in  io.WriteCloser
}

// startChild starts a shell that reads one line and then executes a command.
// The test does not wait for it: it remains a zombie until it is buried.
func startChild(t *testing.T, then string, leads bool, env ...string) aChild {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "read x; "+then)
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"))
	return startCommand(t, cmd, leads)
}

func startCommand(t *testing.T, cmd *exec.Cmd, leads bool) aChild {
	t.Helper()
	if leads {
		cmd.SysProcAttr = session()
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	orphans := process.Orphans()
	i := slices.IndexFunc(orphans, func(o process.Orphan) bool { return o.PID == cmd.Process.Pid })
	if i < 0 {
		t.Fatal("the child is none")
	}
	return aChild{orphans[i].ID, cmd, in}
}

// The program knows what the keeper has sent.
func TestKeeperMessages(t *testing.T) {
	t.Parallel()
	l, keeper := linked(t)
	id, file := process.ID{PID: 7, Start: 8}, regular(t)
	for _, m := range []message{
		{Mark: 5}, {Child: &process.Child{ID: id, Tag: "a/t"}}, {Hold: "lock", file: file}, {Welcome: &welcome{2, "/record"}},
	} {
		l.take(m)
	}
	if l.mark != 5 || l.held["lock"] != file || l.welcome != (welcome{2, "/record"}) || l.PID() != 42 {
		t.Errorf("mark %d, held %v, welcome %v, keeper %d", l.mark, l.held, l.welcome, l.PID())
	}
	if c, ok := l.Child(id); !ok || c.ID != id || c.Tag != "a/t" || c.Ended {
		t.Errorf("the child is %+v, %t", c, ok)
	}
	l.take(message{Child: &process.Child{ID: id, Tag: "a/t", Ended: true, Status: process.Status{ExitCode: 3}}})
	if c, ok := l.Child(id); !ok || !c.Ended || c.Status.ExitCode != 3 {
		t.Errorf("the child ended as %+v, %t", c, ok)
	}
	if all := l.Children(); len(all) != 1 || all[0].ID != id {
		t.Errorf("the children are %+v", all)
	}
	if _, ok := l.Child(process.ID{PID: 7, Start: 9}); ok {
		t.Error("another process of the same number is a child")
	}
	l.Reap(id)
	if _, ok := l.Child(id); ok || len(l.Children()) > 0 {
		t.Error("a child that was dealt with is one yet")
	}
	if m, err := keeper.receive(); err != nil || m.Reap == nil || *m.Reap != id {
		t.Errorf("the keeper is told %+v, %v", m, err)
	}
}

// When the keeper is lost, its children still end, with an unknown status.
func TestChildrenOfALostKeeper(t *testing.T) {
	t.Parallel()
	l, _ := linked(t)
	news := make(chan int, 2)
	l.news = func(buried int) { news <- buried }
	running, reaped := startChild(t, "exit 0", false), startChild(t, "exit 0", false)
	told := process.ID{PID: 1}
	l.children = map[process.ID]process.Child{
		running.ID: {ID: running.ID}, reaped.ID: {ID: reaped.ID},
		told: {ID: told, Ended: true, Status: process.Status{ExitCode: 3}},
	}
	l.lose()
	if l.PID() != -1 {
		t.Errorf("the lost keeper is process %d", l.PID())
	}
	if c, _ := l.Child(running.ID); c.Ended {
		t.Error("a child that runs has ended")
	}
	l.Reap(reaped.ID)
	for _, c := range []aChild{running, reaped} {
		c.in.Close()
		if n := <-news; n != 0 {
			t.Errorf("%d were buried", n)
		}
	}
	c, ok := l.Child(running.ID)
	if !ok || !c.Ended || c.Status.ExitCode != -1 || !errors.Is(c.Status.Err, errLost) || c.EndedAt.IsZero() {
		t.Errorf("it ended as %+v, %t", c, ok)
	}
	if _, ok := l.Child(reaped.ID); ok {
		t.Error("a child that was dealt with is there again")
	}
	if c, _ := l.Child(told); c.Status.ExitCode != 3 || c.Status.Err != nil {
		t.Errorf("what the keeper told is now %+v", c)
	}
}

// A keeper that does not answer is an error at the first query, and a notice at
// the start of a run.
func TestKeeperThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	l, keeper := linked(t)
	l.held["lock"] = regular(t)
	if err := keeper.close(); err != nil {
		t.Fatal(err)
	}
	w, said := notices(l)
	const want = "cannot read from the keeper of the run"
	if resumed, err := w.Resumed(); resumed || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("resumed %t, %v", resumed, err)
	}
	if w.Held("lock") != nil {
		t.Error("a file is held")
	}
	w.open(w.inherit)
	if len(*said) != 1 || !strings.Contains((*said)[0], want) {
		t.Errorf("notices %q", *said)
	}
}

// A program whose keeper died right after the start begins nothing.
func TestKeeperThatDiedAtTheStart(t *testing.T) {
	t.Parallel()
	l, keeper := linked(t)
	if err := keeper.send(message{Welcome: &welcome{Instance: 2}}); err != nil {
		t.Fatal(err)
	}
	if err := keeper.close(); err != nil {
		t.Fatal(err)
	}
	w, _ := notices(l)
	if resumed, err := w.Resumed(); resumed || !errors.Is(err, errLost) {
		t.Errorf("resumed %t, %v", resumed, err)
	}
}

// An instance of the program learns its number, and takes over the record with
// the processes of earlier ones.
func TestInheritedRecord(t *testing.T) {
	t.Parallel()
	dir := private(t)
	r, err := createRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	id := process.ID{PID: 7, Start: 8}
	r.put(processLine(id, "a/t"), 0)
	l, _ := linked(t)
	l.record, l.welcome, l.held["lock"] = r.file, welcome{1, r.path}, regular(t)
	w, said := notices(l)
	w.greeting.Do(func() {})
	if resumed, err := w.Resumed(); resumed || err != nil {
		t.Errorf("the first instance: %t, %v", resumed, err)
	}
	l.welcome.Instance = 2
	if resumed, err := w.Resumed(); !resumed || err != nil || !w.Detached() {
		t.Errorf("the second instance: %t, %v", resumed, err)
	}
	if w.Held("lock") != l.held["lock"] || w.Held("other") != nil {
		t.Error("held are other files than the keeper's")
	}
	w.open(w.inherit)
	if len(*said) > 0 || w.record.path != filepath.Join(dir, filepath.Base(r.path)) {
		t.Fatalf("notices %q, record %+v", *said, w.record)
	}
	w.Recall(id).Remove()
	if c := contentsOf(t, w.record); len(c.started) > 0 {
		t.Errorf("left are %+v", c.started)
	}
	r.file.Close()
	w, said = notices(l)
	w.greeting.Do(func() {})
	w.open(w.inherit)
	if len(*said) != 1 || !strings.Contains((*said)[0], "cannot read the record of the run") {
		t.Errorf("notices %q", *said)
	}
}

// The program reports once whether its run has started, and each instance tells
// the keeper.
func TestStands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		failure error
		closed  bool
		report  string
	}{{report: stands + "words"}, {failure: errors.New("no room"), report: "no room"}, {closed: true, report: stands + "words"}} {
		l, keeper := linked(t)
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		l.report = write
		w, _ := notices(l)
		if c.closed {
			_ = keeper.close()
		}
		err = w.Stands("words", c.failure)
		if c.closed != (err != nil && strings.Contains(err.Error(), "cannot report that the run has started")) {
			t.Errorf("%+v: %v", c, err)
		}
		if text, err := io.ReadAll(read); err != nil || string(text) != c.report {
			t.Errorf("reported is %q, %v, want %q", text, err, c.report)
		}
		read.Close()
		if c.closed {
			continue
		}
		file := regular(t)
		if err := errors.Join(w.Stands("again", nil), w.Hold("lock", file)); err != nil {
			t.Error(err)
		}
		stood := 0
		for m, err := keeper.receive(); m.Hold == ""; m, err = keeper.receive() {
			if err != nil || !m.Stood {
				t.Fatalf("the keeper is told %+v, %v", m, err)
			}
			stood++
		}
		if want := map[bool]int{true: 2, false: 1}[c.failure == nil]; stood != want {
			t.Errorf("%+v: it stood %d times, want %d", c, stood, want)
		}
	}
}

// In the foreground there is no keeper to tell.
func TestNothingIsHeldInTheForeground(t *testing.T) {
	t.Parallel()
	w, _ := notices(nil)
	if err := errors.Join(w.Stands("words", nil), w.Hold("lock", nil)); err != nil {
		t.Error(err)
	}
	if resumed, err := w.Resumed(); resumed || err != nil || w.Detached() || w.Held("lock") != nil {
		t.Errorf("resumed %t, %v, detached %t", resumed, err, w.Detached())
	}
	l, keeper := linked(t)
	_ = keeper.close()
	w, _ = notices(l)
	if err := w.Hold("lock", nil); err == nil || !strings.Contains(err.Error(), `cannot have file "lock" held`) {
		t.Errorf("error %v", err)
	}
}

// The keeper of a detached run learns how it ended. The record is removed with
// everything in it; a write error is reported.
func TestCloseOfADetachedRun(t *testing.T) {
	t.Parallel()
	for _, clean := range []bool{true, false} {
		keeper, program := lines(t)
		w, r := recording(t, &link{line: program})
		r.err = errors.New("no space")
		if err := w.Close(clean); clean != (err != nil && err.Error() == "no space") {
			t.Errorf("closed clean %t: %v", clean, err)
		}
		if m, err := keeper.receive(); err != nil || !reflect.DeepEqual(m.Over, &over{clean}) {
			t.Errorf("the keeper is told %+v, %v", m, err)
		}
		if _, err := os.Stat(r.path); clean == (err == nil) {
			t.Errorf("closed clean %t, the record: %v", clean, err)
		}
	}
}
