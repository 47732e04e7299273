// Package snapshot stores the events of job tests beside their files, and compares
// those of a run with the stored ones.
//
// The snapshot "crash" of web.nomadtest.hcl is web.nomadtest.snapshots/crash.txt.
// It has a line that says where it comes from, one with the seed, and one for each
// event.
package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"taskrun/cmd/jobtest/timeline"
	"taskrun/cmd/textfile"
)

// ErrMissing reports that a snapshot was never stored.
var ErrMissing = errors.New("there is no such snapshot")

// ext is how the names of snapshots end.
const ext = ".txt"

func dir(file string) string { return strings.TrimSuffix(file, ".hcl") + ".snapshots" }

// Path returns the path of a snapshot of a test file.
func Path(file, name string) string { return filepath.Join(dir(file), name+ext) }

// Text returns the events of a run as they are stored.
func Text(seed uint64, events []timeline.Event) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "# Events of a job test; rewrite them with: taskrun test --update-snapshots\n# seed %d\n", seed)
	for _, e := range events {
		fmt.Fprintln(&text, e)
	}
	return text.Bytes()
}

// Compare returns a unified diff between a snapshot and the text of a run, empty
// where they are equal.
func Compare(file, name string, got []byte) (unified string, err error) {
	path := Path(file, name)
	want, err := textfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrMissing
	}
	if err != nil {
		return "", fmt.Errorf("cannot read %q: %w", path, err)
	}
	want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")) // as git may check it out
	if bytes.Equal(want, got) {
		return "", nil
	}
	text := string(diff.Diff(path, want, "this run", got))
	_, text, _ = strings.Cut(text, "\n") // the name of a command that was not run
	return text, nil
}

// Update stores the text of a run, and reports whether that changed anything.
func Update(file, name string, got []byte) (changed bool, err error) {
	path := Path(file, name)
	if old, err := textfile.Read(path); err == nil && bytes.Equal(old, got) {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	if err := textfile.Save(path, got); err != nil {
		return false, fmt.Errorf("cannot write %q: %w", path, err)
	}
	return true, nil
}

// Stale returns the paths of the snapshots of a test file that none of the names
// is the name of.
func Stale(file string, names []string) (paths []string) {
	entries, _ := os.ReadDir(dir(file)) // without the folder there are no snapshots
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ext)
		if ok && e.Type().IsRegular() && !slices.Contains(names, name) {
			paths = append(paths, filepath.Join(dir(file), e.Name()))
		}
	}
	return paths
}
