package tasklog

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/leaktest"
)

// dirAt opens a directory for the time of the test.
func dirAt(t *testing.T, path string) dir {
	t.Helper()
	d, err := dirOf(at(t, path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.close() })
	return d
}

// fill makes files with texts; a name that ends in a slash is a directory.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil && strings.HasSuffix(name, "/") {
			err = os.Mkdir(path, 0o700)
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestClear(t *testing.T) {
	t.Parallel()
	path := leaktest.TempDir(t)
	d := dirAt(t, path)
	fill(t, path, map[string]string{"file": "", "empty/": "", "full/x": ""})
	if err := os.Symlink("empty", filepath.Join(path, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "file", "empty", "none"} {
		if err := d.clear(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.clear("full"); err == nil {
		t.Error("a directory that is not empty: no error")
	}
	if left := names(t, path); !slices.Equal(left, []string{"full"}) {
		t.Errorf("left: %q", left)
	}
}

func TestCreateMakesRoom(t *testing.T) {
	t.Parallel()
	path := leaktest.TempDir(t)
	d := dirAt(t, path)
	fill(t, path, map[string]string{"file": "old", "empty/": "", "full/x": ""})
	for _, name := range []string{"file", "empty", "none"} {
		f, err := d.create(name, writing)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		_ = f.Close()
	}
	if f, err := d.create("full", writing); f != nil || err == nil {
		t.Errorf("in place of a directory that is not empty: %v, %v", f, err)
	}
}

func TestIsOwn(t *testing.T) {
	t.Parallel()
	me := uint32(os.Geteuid())
	for name, tt := range map[string]struct {
		st          unix.Stat_t
		read, write bool
	}{
		"own":             {unix.Stat_t{Mode: unix.S_IFREG, Nlink: 1, Uid: me}, true, true},
		"own and removed": {unix.Stat_t{Mode: unix.S_IFREG, Nlink: 0, Uid: me}, true, true},
		"two names":       {unix.Stat_t{Mode: unix.S_IFREG, Nlink: 2, Uid: me}, true, false},
		"somebody else's": {unix.Stat_t{Mode: unix.S_IFREG, Nlink: 1, Uid: me + 1}, true, false},
		"device":          {unix.Stat_t{Mode: unix.S_IFCHR, Nlink: 1, Uid: me}, false, false},
	} {
		for flags, want := range map[int]bool{unix.O_RDONLY: tt.read, unix.O_WRONLY: tt.write, unix.O_RDWR | unix.O_APPEND: tt.write} {
			if got := isOwn(&tt.st, flags); got != want {
				t.Errorf("%s, flags %#x: %v, want %v", name, flags, got, want)
			}
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	path := leaktest.TempDir(t)
	fill(t, path, map[string]string{
		"web.stdout.10": "", "web.stdout.9": "", "web.stdout.0": "", "web.stdout.1125899906842624": "", // which is maxIndex
		"web.stdout.1125899906842625": "", "web.stdout.-1": "", "web.stdout.+1": "", "web.stdout.007": "", "web.stdout.": "", "web.stdout": "",
		"web.stdout.x": "", "web.stderr.1": "", "aweb.stdout.1": "", "web.stdout.99999999999999999999": "",
	})
	got, err := list(dirAt(t, path), "web.stdout")
	if want := []int{0, 9, 10, maxIndex}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]removed{
		"5 10 7\n":               {5, 10, 7},
		"0 0 0\n":                {},
		"1125899906842624 1 2\n": {maxIndex, 1, 2},
		"1125899906842625 1 2\n": {},
		"-1 3 4\n":               {},
		"3 -1 4\n":               {},
		"3 4 -1\n":               {},
		"3 4\n":                  {},
		"x 3 4\n":                {},
		"":                       {},
	} {
		path := leaktest.TempDir(t)
		fill(t, path, map[string]string{markName("web.stdout"): text})
		if got, err := readMark(dirAt(t, path), "web.stdout"); got != want || err != nil {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestMarkIsWrittenOver(t *testing.T) {
	t.Parallel()
	path := leaktest.TempDir(t)
	d := dirAt(t, path)
	for _, want := range []removed{{maxIndex, math.MaxInt64, maxIndex}, {7, 8, 9}, {}} {
		if err := want.write(d, "web.stdout"); err != nil {
			t.Fatal(err)
		}
		if got, err := readMark(d, "web.stdout"); got != want || err != nil {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
		if info, err := os.Stat(filepath.Join(path, ".web.stdout.purged")); err != nil || info.Size() != markSize {
			t.Errorf("%v, %v", info, err)
		}
	}
	fill(t, path, map[string]string{".web.stderr.purged/x": ""})
	if err := (removed{1, 1, 1}).write(d, "web.stderr"); err == nil {
		t.Error("in place of a directory: no error")
	}
	if got, err := readMark(d, "web.stderr"); got != (removed{}) || err != nil {
		t.Errorf("a directory: %v, %v", got, err)
	}
}

func TestOpenDirFollowsNoLink(t *testing.T) {
	t.Parallel()
	path := leaktest.TempDir(t)
	fill(t, path, map[string]string{"a/alloc/logs/": "", "b/alloc": "", "c/alloc/logs": "", "d/alloc/": ""})
	if err := errors.Join(os.Mkdir(filepath.Join(path, "e"), 0o700), os.Symlink("../a/alloc", filepath.Join(path, "e/alloc"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"a": nil, "b": unix.ENOTDIR, "c": unix.ENOTDIR, "d": fs.ErrNotExist, "e": unix.ENOTDIR, "f": fs.ErrNotExist,
	} {
		d, err := openDir(filepath.Join(path, name, "alloc", "logs"))
		if !errors.Is(err, want) && !(name == "e" && errors.Is(err, unix.ELOOP)) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err := d.close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
