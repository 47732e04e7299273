package source

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/tasklog"
)

// Outputs are due in the order of allocation, task and stream, each of them once where
// the engine announces which ones grow.
func TestDueOutputs(t *testing.T) {
	t.Parallel()
	o := outputs{open: map[outputKey]*output{}, unread: map[outputKey]bool{}}
	all := []outputKey{{"1", "a", event.Stdout}, {"1", "a", event.Stderr}, {"1", "b", event.Stdout}, {"2", "a", event.Stdout}}
	for _, key := range slices.Backward(all) {
		o.add(key, &output{})
	}
	due := func(when string, want ...outputKey) {
		t.Helper()
		if got := o.due(); !slices.Equal(got, want) {
			t.Errorf("%s: %v are due, want %v", when, got, want)
		}
	}
	due("at first", all...)
	due("while nothing is announced", all...)
	o.tells(true)
	due("when growth is announced from now on", all...)
	due("when nothing has grown")
	o.grew(all[2])
	o.grew(outputKey{"3", "a", event.Stdout})
	due("when two have grown, of which one is not open", all[2])
	o.hold()
	due("when a rotation is due", all...)
	o.tells(false)
	due("when nothing is announced any more", all...)
	due("again", all...)
	if o.get(all[3]) != o.open[all[3]] || o.get(outputKey{"3", "a", event.Stdout}) != nil {
		t.Error("another output is there")
	}
}

// Outputs keep what is rotated away while they are held, and close their files.
func TestHeldOutputs(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("t.stdout.0", "first\n")
	write("t.stdout.1", "second\n")
	files, err := tasklog.OpenReader(dir, "t", event.Stdout, 0, io.SeekStart)
	if err != nil {
		t.Fatal(err)
	}
	key, empty := outputKey{"1", "t", event.Stdout}, outputKey{"2", "t", event.Stdout}
	o := outputs{open: map[outputKey]*output{key: {files: files}, empty: {}}, unread: map[outputKey]bool{}}
	o.hold()
	if diff := cmp.Diff(map[outputKey]bool{key: true, empty: true}, o.unread, cmp.AllowUnexported(outputKey{})); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"t.stdout.0", "t.stdout.1"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 100)
	for _, want := range []string{"first\n", "second\n"} {
		if n, err := files.Read(buf); err != nil || string(buf[:n]) != want {
			t.Errorf("%q, %v, want %q", buf[:n], err, want)
		}
	}
	o.close()
	if _, err := files.Read(buf); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after it was closed: %v", err)
	}
}
