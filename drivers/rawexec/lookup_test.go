package rawexec

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	alloc := t.TempDir()
	task := filepath.Join(alloc, "task")
	outside := filepath.Join(t.TempDir(), "outside")
	ls, err := exec.LookPath("ls")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		filepath.Join(task, "local", "both"), filepath.Join(task, "both"), filepath.Join(task, "root"),
		filepath.Join(task, "local", "sub", "cmd"), filepath.Join(task, "local", outside), outside,
		filepath.Join(task, "local", "cat"),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(task, "local", "ls"), 0o755); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"both":       filepath.Join(task, "local", "both"),
		"root":       filepath.Join(task, "root"),
		"sub/cmd":    filepath.Join(task, "local", "sub", "cmd"),
		"local/both": filepath.Join(task, "local", "both"),
		outside:      filepath.Join(task, "local", outside), // shadowed
		"cat":        filepath.Join(task, "local", "cat"),   // shadowed
		"ls":         ls,                                    // not by a directory
		ls:           ls,
		"nothing":    "",
		"./main.go":  "", // not in this program's directory
		"/nothing":   "",
	} {
		got, err := lookup(task, command)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is found at %q, not %q: %v", command, got, want, err)
		}
	}
}

// Files of the allocation are made executable, others never.
func TestMakeExecutable(t *testing.T) {
	t.Parallel()
	alloc, other := t.TempDir(), t.TempDir()
	write := func(mode os.FileMode, elem ...string) string {
		path := filepath.Join(elem...)
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(target string, elem ...string) string {
		path := filepath.Join(elem...)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inside := write(0o600, alloc, "inside")
	outside := write(0o644, other, "outside")
	for name, c := range map[string]struct {
		path  string
		mode  os.FileMode // that it has then
		fails bool
	}{
		"inside":                  {path: inside, mode: 0o755},
		"inside, by a link":       {path: link(inside, other, "in"), mode: 0o755},
		"inside, executable":      {path: write(0o755, alloc, "ready"), mode: 0o755},
		"outside":                 {path: outside, mode: 0o644, fails: true},
		"outside, by a link":      {path: link(outside, alloc, "out"), mode: 0o644, fails: true},
		"outside, executable":     {path: write(0o755, other, "ready"), mode: 0o755},
		"outside, for some":       {path: write(0o700, other, "some"), mode: 0o700},
		"outside, a dotted path":  {path: alloc + "/../" + filepath.Base(other) + "/outside", mode: 0o644, fails: true},
		"inside, a linked folder": {path: link(alloc, other, "alloc") + "/inside", mode: 0o755},
	} {
		err := makeExecutable(alloc, c.path)
		if (err != nil) != c.fails {
			t.Errorf("%s: the error is %v", name, err)
		}
		if err != nil && !strings.Contains(err.Error(), "chmod +x "+c.path) {
			t.Errorf("%s: the error %q has no remedy", name, err)
		}
		if info, err := os.Stat(c.path); err != nil || info.Mode().Perm() != c.mode {
			t.Errorf("%s: the mode is %v, not %v: %v", name, info.Mode(), c.mode, err)
		}
	}
}

// A folder of PATH that the user cannot look into is passed over, as shells do.
func TestFindCommandInAFolderThatIsClosed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root can look into every folder")
	}
	closed, open := filepath.Join(t.TempDir(), "closed"), t.TempDir()
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(open, "plain"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + open + ":" + closed}
	for name, want := range map[string]int{"nothing": codeNotFound, "plain": codeNotExecutable} {
		if _, code, err := findCommand(name, "/", env); code != want || err == nil {
			t.Errorf("%s: code %d, %v", name, code, err)
		}
	}
}
