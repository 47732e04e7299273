package keeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskrun/drivers/process"
)

func session() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// newParent returns the keeper of a detached run that has started, and its log.
func newParent(t *testing.T) (*parent, *bytes.Buffer) {
	t.Helper()
	r, err := createRecord(private(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.file.Close() })
	log := &bytes.Buffer{}
	return &parent{
		clean: cleaner, adopts: true, log: log, record: r, held: map[string]*os.File{}, children: map[process.ID]process.Child{},
		unwanted: map[process.ID]bool{}, began: time.Now(), stood: true,
	}, log
}

func (p *parent) hasRecord() bool {
	_, err := os.Stat(p.record.path)
	return err == nil
}

// A run that has cleaned up is left alone; one that has ended without that, or
// never started, is cleaned up.
func TestEndOfTheProgram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		over    *over
		stood   bool
		cleaned bool
	}{
		"clean":          {&over{true}, true, false},
		"not clean":      {&over{false}, true, true},
		"clean at once":  {&over{true}, false, false},
		"never stood":    {nil, false, true},
		"failed to stop": {&over{false}, false, true},
	} {
		p, log := newParent(t)
		ours, _ := lines(t)
		p.line, p.stood = ours, c.stood
		p.messages = make(chan message, 1)
		if c.over != nil {
			p.messages <- message{Over: c.over} // its last message
		}
		close(p.messages)
		if pause, err := p.handleEnd(); pause != 0 || err != nil || log.Len() > 0 {
			t.Errorf("%s: %v, %v, %s", name, pause, err, log)
		}
		if p.hasRecord() == c.cleaned {
			t.Errorf("%s: the record is there: %t", name, p.hasRecord())
		}
		if p.messages != nil || p.line != nil || ours.send(message{Stood: true}) == nil {
			t.Errorf("%s: the connection is open", name)
		}
	}
}

// The pauses before restarts grow, until the program has died too often.
func TestPausesBetweenDeaths(t *testing.T) {
	t.Parallel()
	p, log := newParent(t)
	for range 2 {
		for i := range maxDeaths - 1 {
			pause, err := p.handleEnd()
			if want := firstPause << i; pause != want || err != nil {
				t.Errorf("death %d: pause %v, %v, want %v", i+1, pause, err, want)
			}
		}
		p.began = time.Now().Add(-2 * quickEnd) // this one lived for a while
		if pause, err := p.handleEnd(); pause != firstPause || err != nil {
			t.Errorf("after a long life: pause %v, %v", pause, err)
		}
		p.began, p.deaths = time.Now(), 0
	}
	p.deaths = maxDeaths - 1
	if pause, err := p.handleEnd(); pause != 0 || err != nil || p.hasRecord() {
		t.Errorf("after the last death: pause %v, %v, record %t", pause, err, p.hasRecord())
	}
	if want := "taskrun: the run was killed, for its program cannot be started again: it died 5 times in a row\n"; log.String() != want {
		t.Errorf("the log says %q", log)
	}
}

// If orphans are adopted elsewhere, or the record cannot be read, the run is
// given up.
func TestProgramCannotBeRestarted(t *testing.T) {
	t.Parallel()
	p, log := newParent(t)
	p.adopts = false
	if pause, err := p.handleEnd(); pause != 0 || err != nil || p.hasRecord() || !strings.Contains(log.String(), "another parent") {
		t.Errorf("pause %v, %v, the log says %q", pause, err, log)
	}
	p, log = newParent(t)
	p.record.file.Close()
	if pause, err := p.handleEnd(); pause != 0 || err == nil || !strings.Contains(log.String(), "cannot read the record") {
		t.Errorf("pause %v, %v, the log says %q", pause, err, log)
	}
}

// Resources that cannot be cleaned up stay in the record. A record without a
// program belongs to a run that has cleaned up.
func TestCleanUpOfADetachedRun(t *testing.T) {
	t.Parallel()
	p, _ := newParent(t)
	p.record.put(fmt.Sprintf("lasting %q %q", "fail", "it is busy"), 0)
	if err := p.cleanUp(); err == nil || err.Error() != "it is busy" || !p.hasRecord() {
		t.Errorf("%v, record %t", err, p.hasRecord())
	}
	p, _ = newParent(t)
	p.record.set(p.record.program, "")
	if err := p.cleanUp(); err != nil || !p.hasRecord() {
		t.Errorf("%v, record %t", err, p.hasRecord())
	}
}

func TestProgramMessages(t *testing.T) {
	t.Parallel()
	p, _ := newParent(t)
	p.stood = false
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	p.report = write
	p.take(message{Stood: true})
	if _, err := write.Write(nil); !p.stood || p.report != nil || !errors.Is(err, os.ErrClosed) {
		t.Errorf("it stands: %t, the report %v, %v", p.stood, p.report, err)
	}
	p.take(message{Stood: true})
	p.take(message{Over: &over{true}})
	if p.over == nil || !p.over.Clean {
		t.Errorf("it is over: %+v", p.over)
	}
	one, other := regular(t), regular(t)
	p.take(message{Hold: "lock", file: one})
	p.take(message{Hold: "lock", file: other})
	if _, err := one.Stat(); p.held["lock"] != other || !errors.Is(err, os.ErrClosed) {
		t.Errorf("held is %v; the file before: %v", p.held, err)
	}
	p.take(message{Hold: "lock"})
	if _, err := other.Stat(); len(p.held) > 0 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("held is %v; the file before: %v", p.held, err)
	}
	runs := process.ID{PID: 7}
	p.children[runs] = process.Child{ID: runs}
	p.take(message{Reap: &runs})
	p.take(message{Reap: &process.ID{PID: 8}})
	if len(p.children) > 0 || len(p.unwanted) != 1 || !p.unwanted[runs] {
		t.Errorf("children %v, unwanted %v", p.children, p.unwanted)
	}
}

// An instance receives the complete state, and finally its number.
func TestGreeting(t *testing.T) {
	t.Parallel()
	for _, mark := range []uint64{0, 5} {
		p, _ := newParent(t)
		ours, theirs := lines(t)
		id := process.ID{PID: 7, Start: 8}
		p.line, p.mark, p.instance = ours, mark, 3
		p.children[id], p.held["lock"] = process.Child{ID: id, Tag: "a/t"}, regular(t)
		p.greet()
		var got []string
		for range 4 {
			m, err := theirs.receive()
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case m.Mark != 0:
				got = append(got, fmt.Sprint("mark ", m.Mark))
			case m.Child != nil:
				got = append(got, fmt.Sprint("child ", m.Child.PID, m.Child.Tag))
			case m.Hold != "":
				got = append(got, fmt.Sprint("hold ", m.Hold, m.file != nil))
				m.file.Close()
			case m.Welcome != nil:
				got = append(got, fmt.Sprint("welcome ", m.Welcome.Instance, m.Welcome.Record == p.record.path))
			}
			if m.Welcome != nil {
				break
			}
		}
		want := []string{"mark 5", "child 7a/t", "hold locktrue", "welcome 3 true"}
		if mark == 0 {
			want = want[1:]
		}
		if !slices.Equal(got, want) {
			t.Errorf("it is told %q, want %q", got, want)
		}
	}
	(&parent{}).tell(message{Mark: 1}) // to nobody
}

// All messages of the program are read, and then its end.
func TestListen(t *testing.T) {
	t.Parallel()
	ours, theirs := lines(t)
	heard := make(chan message, 3)
	if err := errors.Join(theirs.send(message{Stood: true}), theirs.send(message{Over: &over{}}), theirs.close()); err != nil {
		t.Fatal(err)
	}
	listen(ours, heard)
	if one, other := <-heard, <-heard; !one.Stood || other.Over == nil {
		t.Errorf("heard is %+v, %+v", one, other)
	}
	if m, ok := <-heard; ok {
		t.Errorf("heard is %+v", m)
	}
}

// The program finds its own environment.
func TestEnvironmentOfTheProgram(t *testing.T) {
	for _, name := range []string{roleVar, pathVar, dirVar, "TASKRUN_TEST_OTHER"} {
		t.Setenv(name, "/x=y")
	}
	env := ownEnviron()
	if len(env) != len(os.Environ())-3 {
		t.Errorf("%d variables are for the program", len(env))
	}
	for _, name := range []string{roleVar, pathVar, dirVar} {
		if slices.Contains(env, name+"=/x=y") {
			t.Errorf("%s is for the keeper alone", name)
		}
	}
	if !slices.Contains(env, "TASKRUN_TEST_OTHER=/x=y") {
		t.Error("a variable is missing")
	}
}

// The first process with the tag is chosen, or else the only one without any.
func TestChoose(t *testing.T) {
	t.Parallel()
	at := func(start uint64) process.Orphan { return process.Orphan{ID: process.ID{PID: 1, Start: start}} }
	for _, c := range []struct {
		tagged, bare []process.Orphan
		want         uint64
	}{
		{nil, nil, 0},
		{nil, []process.Orphan{at(3)}, 3},
		{nil, []process.Orphan{at(3), at(4)}, 0},
		{[]process.Orphan{at(9)}, []process.Orphan{at(3)}, 9},
		{[]process.Orphan{at(9), at(7), at(8)}, nil, 7},
	} {
		if o, ok := choose(c.tagged, c.bare); o.Start != c.want || ok != (c.want > 0) {
			t.Errorf("%+v: chosen is %+v, %t", c, o, ok)
		}
	}
}

// The following tests look at all children of this program, so none is
// parallel.

var tagged = []string{"NOMAD_ALLOC_ID=x", "NOMAD_TASK_NAME=y"}

// A process belongs to an intent if it leads a session that started later, with
// the tag or without any.
func TestResolve(t *testing.T) {
	elsewhere := []string{"NOMAD_ALLOC_ID=x", "NOMAD_TASK_NAME=z"}
	type c struct {
		leads, known bool
		env          []string
		younger      uint64 // than the intent, in ticks less
		other        bool   // there is also one without a tag
	}
	for name, c := range map[string]struct {
		c
		found bool
	}{
		"tagged":          {c{leads: true, env: tagged}, true},
		"tagged, no more": {c{leads: true, env: tagged, other: true}, true},
		"bare":            {c{leads: true}, true},
		"two bare":        {c{leads: true, other: true}, false},
		"other task":      {c{leads: true, env: elsewhere}, false},
		"known":           {c{leads: true, known: true, env: tagged}, false},
		"older":           {c{leads: true, env: tagged, younger: 1}, false},
		"no session":      {c{env: tagged}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := startChild(t, "", c.leads, c.env...)
			if c.other {
				startChild(t, "", true)
			}
			o, ok := resolve(intent{tag: "x/y", since: p.Start + c.younger}, map[process.ID]bool{p.ID: c.known})
			if ok != c.found || ok && o.ID != p.ID {
				t.Errorf("found is %+v, %t; it is %+v", o, ok, p.ID)
			}
		})
	}
}

// A process that has not executed its program yet is waited for, but not
// forever.
func TestResolveWaits(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append([]string{"TASKRUN_TEST_ROLE=idle"}, tagged...)
	p := startCommand(t, cmd, true)
	began := time.Now()
	if o, ok := resolve(intent{tag: "x/y", since: p.Start}, nil); ok || time.Since(began) < settleTime {
		t.Errorf("after %v found is %+v, %t", time.Since(began), o, ok)
	}
}

// After the program has died, its processes are known from the record: the
// recorded ones, and the intended ones.
func TestAdoptFromTheRecord(t *testing.T) {
	p, _ := newParent(t)
	written, intended, held := startChild(t, "", true), startChild(t, "", true, tagged...), startChild(t, "", true)
	since := min(written.Start, intended.Start)
	p.children[held.ID] = process.Child{ID: held.ID, Tag: "h/t", Status: process.Status{ExitCode: 4}, Ended: true}
	p.record.put(processLine(written.ID, "w/t"), 0)
	p.record.put(processLine(held.ID, "h/t"), 0)
	p.record.put(processLine(process.ID{PID: written.PID, Start: 1}, "gone/t"), 0)
	p.record.put(fmt.Sprintf("intent %d %q", since, "x/y"), 96)
	p.record.put(fmt.Sprintf("intent %d %q", since, "never/forked"), 96)
	if err := p.adopt(); err != nil {
		t.Fatal(err)
	}
	want := map[process.ID]process.Child{
		written.ID: {ID: written.ID, Tag: "w/t"}, intended.ID: {ID: intended.ID, Tag: "x/y"},
		held.ID: {ID: held.ID, Tag: "h/t", Status: process.Status{ExitCode: 4}, Ended: true},
	}
	if fmt.Sprint(p.children) != fmt.Sprint(want) {
		t.Errorf("adopted are %+v", p.children)
	}
	var tags []string
	c := contentsOf(t, p.record)
	for _, s := range c.started {
		tags = append(tags, s.Tag)
		if s.Tag == "x/y" && s.ID != intended.ID {
			t.Errorf("the intended process is recorded as %+v", s)
		}
	}
	if slices.Sort(tags); !slices.Equal(tags, []string{"h/t", "w/t", "x/y"}) || len(c.intents) > 0 {
		t.Errorf("the record has %q, %+v", tags, c.intents)
	}
}

// awaitEnd waits until a child has ended, without burying it.
func awaitEnd(t *testing.T, id process.ID) {
	t.Helper()
	for deadline := time.Now().Add(patience); !isEnded(id); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not end")
		}
	}
}

func isEnded(id process.ID) bool {
	return slices.ContainsFunc(process.EndedOrphans(), func(o process.Orphan) bool { return o.ID == id })
}

// The keeper reaps unknown processes, keeps the exit codes of task processes
// and sends them to the engine, and leaves alone possible tasks.
func TestLook(t *testing.T) {
	p, _ := newParent(t)
	p.look() // buries children of other tests
	ours, theirs := lines(t)
	p.line = ours
	end := func(then string, leads bool) process.ID {
		c := startChild(t, then, leads)
		c.in.Close()
		awaitEnd(t, c.ID)
		return c.ID
	}
	next := func() (m message) {
		t.Helper()
		if err := ours.send(message{Hold: "end"}); err != nil {
			t.Fatal(err)
		}
		m, err := theirs.receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.Hold == "" {
			if end, err := theirs.receive(); err != nil || end.Hold == "" {
				t.Errorf("told is also %+v, %v", end, err)
			}
		}
		return m
	}
	kept := end("exit 3", true)
	p.children[kept] = process.Child{ID: kept, Tag: "a/t"}
	if dead := p.look(); dead || !isEnded(kept) {
		t.Errorf("the program died: %t, its task is there: %t", dead, isEnded(kept))
	}
	if m := next(); m.Child == nil || m.Child.ID != kept || m.Child.Status.ExitCode != 3 || !m.Child.Ended || m.Child.Tag != "a/t" {
		t.Errorf("told is %+v", m)
	}
	if p.look(); next().Hold == "" || p.children[kept].EndedAt.IsZero() {
		t.Error("an end is told twice, or its time is not known")
	}
	p.take(message{Reap: &kept})
	if isEnded(kept) {
		t.Error("what the program has dealt with is not buried")
	}

	unwanted := end("", true)
	p.unwanted[unwanted] = true
	if p.look() || isEnded(unwanted) || len(p.unwanted) > 0 || next().Hold == "" {
		t.Error("what was dealt with before its end is not buried, or told")
	}

	unknown := end("", true)
	if p.look(); isEnded(unknown) {
		t.Error("an unknown process is not reaped")
	}
	if m := next(); m.Buried != 1 {
		t.Errorf("told is %+v", m)
	}

	recorded, follows := end("", false), end("", false)
	c := p.record.put(processLine(recorded, "b/t"), 0)
	if p.look(); !isEnded(recorded) || isEnded(follows) {
		t.Error("buried is what the program recorded, or not what it did not")
	}
	next()
	p.record.blank(c)
	c = p.record.put(intentLine("c/t"), 0)
	leader, follows := end("", true), end("", false)
	if p.look(); !isEnded(leader) || isEnded(follows) || isEnded(recorded) {
		t.Error("buried is what the program intended, or not what it did not")
	}
	next()
	p.record.blank(c)

	p.engine = end("", true)
	engine := p.engine
	if dead := p.look(); !dead || isEnded(engine) || p.engine != (process.ID{}) || next().Hold == "" {
		t.Errorf("the program died: %t, it is buried: %t", dead, !isEnded(engine))
	}
	unread := end("", true)
	p.record.file.Close()
	if p.look(); !isEnded(unread) {
		t.Error("buried is what may be in a record that cannot be read")
	}
}

// cleaner is the cleaner of the keepers in these tests: a lasting task is a
// file, which it removes or fails to remove.
func cleaner(_ context.Context, driver, ref string) error {
	if driver == "fail" {
		return errors.New(ref)
	}
	return os.Remove(ref)
}
