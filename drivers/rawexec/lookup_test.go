package rawexec

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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
		outside:      outside, // not shadowed
		"/sub/cmd":   filepath.Join(task, "local", "sub", "cmd"),
		"cat":        filepath.Join(task, "local", "cat"), // shadowed
		"ls":         ls,                                  // not by a directory
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

// TestLookupThroughAnotherUsersDirectory lets another user put commands where
// the task's are looked up.
func TestLookupThroughAnotherUsersDirectory(t *testing.T) {
	t.Parallel()
	task := t.TempDir()
	open := filepath.Join(task, "local", "open")
	if err := errors.Join(
		os.Chmod(filepath.Dir(task), 0o755), os.Chmod(task, 0o755), // t.TempDir is closed to others
		os.MkdirAll(filepath.Join(task, "local"), 0o755), os.Mkdir(open, 0o700), os.Chmod(open, 0o777),
		os.WriteFile(filepath.Join(open, "sh"), nil, 0o700), os.WriteFile(filepath.Join(task, "local", "ls"), nil, 0o700),
		os.Chmod(filepath.Join(task, "local", "ls"), 0o777), os.Symlink("open", filepath.Join(task, "bin")),
	); err != nil {
		t.Fatal(err)
	}
	ls, err := exec.LookPath("ls")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := lookup(task, "ls"); got != ls || err != nil {
		t.Errorf("a file that others can write: %q, %v", got, err)
	}
	for _, command := range []string{"open/sh", "local/open/sh"} {
		if got, err := lookup(task, command); err == nil || !strings.Contains(err.Error(), "can be changed by every user") {
			t.Errorf("%s: %q, %v", command, got, err)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	const user = 4321
	if err := errors.Join(os.Chmod(open, 0o755), os.Lchown(open, user, user)); err != nil {
		t.Fatal(err)
	}
	if got, err := lookup(task, "open/sh"); err == nil || !strings.Contains(err.Error(), "uid 4321") {
		t.Errorf("the directory of another user: %q, %v", got, err)
	}
	if got, err := lookup(task, "open/sh", user); err != nil {
		t.Errorf("the directory of the task's user: %q, %v", got, err)
	}
}

// Only files of the allocation are made executable.
func TestMakeExecutable(t *testing.T) {
	t.Parallel()
	alloc, other := t.TempDir(), t.TempDir()
	task := filepath.Join(alloc, "task")
	if err := os.Mkdir(task, 0o755); err != nil {
		t.Fatal(err)
	}
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
	inside := write(0o600, task, "inside")
	outside := write(0o644, other, "outside")
	for name, c := range map[string]struct {
		path  string
		mode  os.FileMode // that it has then
		fails bool
	}{
		"inside":                  {path: inside, mode: 0o755},
		"inside, by a link":       {path: link(inside, other, "in"), mode: 0o755},
		"inside, executable":      {path: write(0o755, task, "ready"), mode: 0o755},
		"outside":                 {path: outside, mode: 0o644, fails: true},
		"outside, by a link":      {path: link(outside, task, "out"), mode: 0o644, fails: true},
		"outside, executable":     {path: write(0o755, other, "ready"), mode: 0o755},
		"outside, for some":       {path: write(0o700, other, "some"), mode: 0o700},
		"outside, a dotted path":  {path: alloc + "/../" + filepath.Base(other) + "/outside", mode: 0o644, fails: true},
		"inside, a linked folder": {path: link(task, other, "alloc") + "/inside", mode: 0o755},
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

// TestMakeExecutableChangesOnlyTheTasksFile lets a task replace its command by
// something else.
func TestMakeExecutableChangesOnlyTheTasksFile(t *testing.T) {
	t.Parallel()
	alloc := t.TempDir()
	local, secret := filepath.Join(alloc, "task", "local"), filepath.Join(alloc, "other", "secret")
	if err := errors.Join(
		os.MkdirAll(local, 0o755), os.Mkdir(filepath.Dir(secret), 0o755), os.WriteFile(secret, nil, 0o600),
		os.Link(secret, filepath.Join(local, "name")), unix.Mkfifo(filepath.Join(local, "fifo"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"name", "fifo"} {
		if err := makeExecutable(alloc, filepath.Join(local, name)); err == nil {
			t.Errorf("the %s was made executable", name)
		}
	}
	if info, err := os.Stat(secret); err != nil || info.Mode() != 0o600 {
		t.Errorf("the mode of another file is %v, %v", info.Mode(), err)
	}
}

// A command is found like in a shell of the task.
func TestFindCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"bin/good": 0o755, "other/good": 0o755, "bin/plain": 0o644, "other/late": 0o755, "bin/late": 0o644} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, mode)); err != nil {
			t.Fatal(err)
		}
	}
	path := "PATH=" + dir + "/none:" + dir + "/bin:other"
	for name, tt := range map[string]struct {
		command, env string
		path         string
		code         int
		err          string
	}{
		"along the path":           {"good", path, dir + "/bin/good", 0, ""},
		"a relative folder":        {"late", path, dir + "/other/late", 0, ""},
		"only the relative folder": {"good", "PATH=other", dir + "/other/good", 0, ""},
		"not executable":           {"plain", path, "", codeNotExecutable, `cannot run "` + dir + `/bin/plain": it is not executable`},
		"nowhere":                  {"none", path, "", codeNotFound, `command "none" is not in the task's PATH`},
		"without a path":           {"good", "MYPATH=" + dir + "/bin", "", codeNotFound, `command "good" is not in the task's PATH`},
		"a relative name":          {"bin/good", "", dir + "/bin/good", 0, ""},
		"an absolute name":         {dir + "/bin/good", "", dir + "/bin/good", 0, ""},
		"a name that is missing":   {"./none", path, "", codeNotFound, `there is no command "` + dir + `/none"`},
		"a directory":              {"./bin", path, "", codeNotExecutable, `cannot run "` + dir + `/bin": it is a directory`},
		"below a file":             {"bin/good/x", path, "", codeNotExecutable, "not a directory"},
	} {
		got, code, err := findCommand(tt.command, dir, []string{tt.env})
		if got != tt.path || code != tt.code || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %d, %v", name, got, code, err)
		}
	}
}

// A directory in PATH that the user cannot search is skipped, as in shells.
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
