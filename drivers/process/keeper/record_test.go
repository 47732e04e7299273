package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/drivers/process"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/runtimedir"
)

// A line stays in a record until it is blanked, and the next one takes its
// place.
func TestRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := createRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	r.put("mark 805985", 0)
	r.put(fmt.Sprintf("dir %q", "/a b/\n\"ü"), 0)
	r.put(fmt.Sprintf("socket %q", "/"+strings.Repeat("s", 90)), 0)
	r.put(fmt.Sprintf("scratch %q", "/tmp/x y"), 0)
	r.put("of a later version", 0)
	var size int64
	for i := range 100 {
		c := r.put(processLine(process.ID{PID: i + 1, Start: 7}, "alloc/task"), 0)
		other := r.put(intentLine("alloc/other"), 0)
		if i == 0 {
			size = r.end
		}
		if i < 99 {
			r.blank(c)
		}
		r.blank(other)
	}
	if r.end != size || r.err != nil {
		t.Errorf("it has grown from %d to %d bytes, %v", size, r.end, r.err)
	}
	again, c, err := openRecord(r.file, r.path)
	if err != nil {
		t.Fatal(err)
	}
	if c.program != process.Self() || c.boot != bootID() || c.mark != 805985 || len(c.intents) != 0 {
		t.Errorf("it says %+v", c)
	}
	if len(c.dirs) != 1 || c.dirs[0] != "/a b/\n\"ü" || len(c.sockets) != 1 || len(c.sockets[0]) != 91 || len(c.scratch) != 1 || c.scratch[0] != "/tmp/x y" {
		t.Errorf("the paths are %q, %q", c.dirs, c.sockets)
	}
	if len(c.started) != 1 || c.started[0].ID != (process.ID{PID: 100, Start: 7}) || c.started[0].Tag != "alloc/task" {
		t.Errorf("the processes are %+v", c.started)
	}
	if again.put(intentLine("alloc/task"), 0); again.end != size {
		t.Error("a record that is taken over does not know what is free")
	}
	if err := r.remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A record is ignored while it is locked, damaged, or not private to the user; an
// empty one is removed.
func TestFindDead(t *testing.T) {
	t.Parallel()
	dir := private(t)
	find := func() int {
		dead, err := FindDead(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range dead {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
		return len(dead)
	}
	if n := find(); n != 0 {
		t.Errorf("in an empty directory are %d", n)
	}
	r, err := createRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if n := find(); n != 0 {
		t.Error("a run that lives is dead")
	}
	// A process that another test starts now may have inherited the lock.
	if err := errors.Join(runtimedir.Flock(r.file, unix.LOCK_UN), r.file.Close()); err != nil {
		t.Fatal(err)
	}
	if n := find(); n != 1 {
		t.Errorf("of a dead run there are %d", n)
	}
	if err := os.Chmod(r.path, 0o666); err != nil {
		t.Fatal(err)
	}
	if n := find(); n != 0 {
		t.Error("a file that everybody may write to is believed")
	}
	if err := os.Chmod(r.path, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  string
		stays bool
	}{{"mark 7\n", true}, {"", false}} {
		if err := os.WriteFile(r.path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n := find(); n != 0 {
			t.Errorf("a record of %q is one", c.text)
		}
		if _, err := os.Stat(r.path); (err == nil) != c.stays {
			t.Errorf("a record of %q: %v", c.text, err)
		}
	}
	if dead, err := FindDead(dir + "/none"); dead != nil || err != nil {
		t.Errorf("without directory: %v, %v", dead, err)
	}
}

// A record stays although another program looks for dead runs while it is created.
func TestFindDeadDuringTheStart(t *testing.T) {
	t.Parallel()
	dir := private(t)
	created := make(chan struct{})
	var finding sync.WaitGroup
	finding.Go(func() {
		for {
			select {
			case <-created:
				return
			default:
				if dead, err := FindDead(dir); len(dead) > 0 || err != nil {
					t.Errorf("found %v, %v", dead, err)
				}
			}
		}
	})
	for range 200 {
		r, err := createRecord(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(r.path); err != nil {
			t.Error(err)
		}
		if err := r.remove(); err != nil {
			t.Fatal(err)
		}
	}
	close(created)
	finding.Wait()
}

func FuzzParse(f *testing.F) {
	f.Add("program 1 2 x\nmark 3\ndir \"/a\"\nprocess 4 5 \"a/t\"\nintent 6 \"b/t\"\n   \n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if c.end > int64(len(text)) {
			t.Errorf("%d of %d bytes were read", c.end, len(text))
		}
	})
}

// Resources that a later program needs stay after a run was killed.
func TestKeptRunStays(t *testing.T) {
	t.Parallel()
	dataDir, records := t.TempDir(), private(t)
	r, err := createRecord(records)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range []string{"dir", "kept"} {
		run, err := datadir.OpenRun(dataDir, job, "1")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(run.Dir, datadir.RecoveryDir), 0o700), run.Leave()); err != nil {
			t.Fatal(err)
		}
		r.put(fmt.Sprintf("%s %q", job, run.Dir), 0)
	}
	c, err := parse(r.file)
	if err != nil {
		t.Fatal(err)
	}
	c.boot = "another" // so that no process is looked for
	if _, err := c.cleanUp(t.Context(), func(context.Context, string, string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for job, want := range map[string]bool{"dir": false, "kept": true} {
		_, err := os.Stat(filepath.Join(datadir.RunDir(dataDir, job, "1"), datadir.RecoveryDir))
		if (err == nil) != want {
			t.Errorf("%s: %v", job, err)
		}
	}
	if err := r.remove(); err != nil {
		t.Fatal(err)
	}
}
