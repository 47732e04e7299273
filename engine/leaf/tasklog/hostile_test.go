package tasklog

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// secret is the content of the victim's file.
const secret = "a file of somebody else\n"

// traps are files that a task may put into the directory of the logs.
var traps = []struct {
	name    string
	set     func(name, victim string) error
	regular bool // readers take it for output, if its name is that of a file
}{
	{"FIFO", func(name, _ string) error { return unix.Mkfifo(name, 0o666) }, false},
	{"link", func(name, victim string) error { return os.Symlink(victim, name) }, false},
	{"link to a directory", func(name, victim string) error { return os.Symlink(filepath.Dir(victim), name) }, false},
	{"link to nothing", func(name, victim string) error { return os.Symlink(victim+".new", name) }, false},
	{"second name", func(name, victim string) error { return os.Link(victim, name) }, true},
	{"empty directory", func(name, _ string) error { return os.Mkdir(name, 0o700) }, false},
	{"directory", func(name, _ string) error { return os.MkdirAll(filepath.Join(name, "x"), 0o700) }, false},
	{"socket", func(name, _ string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
		if err == nil {
			l.SetUnlinkOnClose(false)
			l.Close()
		}
		return err
	}, false},
	{"sparse file", func(name, _ string) error {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(name, 1<<20)
	}, true},
	{"far mark", func(name, _ string) error { return os.WriteFile(name, []byte("9000000000000000000 1\n"), 0o600) }, true},
	{"negative mark", func(name, _ string) error {
		return os.WriteFile(name, []byte("-9000000000000000000 -9000000000000000000\n"), 0o600)
	}, true},
}

// fought is the state of a log after it ran in a directory with a trap.
type fought struct {
	err      error
	followed string // by a reader from the beginning
	tail     []byte
}

// fight has a log and its readers do everything they do, with rotations and
// restarts, in a directory with a trap. after is how many lines are written
// before it is set.
func fight(root *os.Root, after int, set func() error) (f fought) {
	dir := root.Name()
	cfg := Config{Dir: root, Task: "web", MaxFiles: 3, MaxFileSize: 8}
	write := func(l *Log, from, to int) error {
		out, _, err := l.Writers()
		for i := from; i < to && err == nil; i++ {
			_, err = fmt.Fprintf(out, "line %02d\n", i)
		}
		stdout, stderr, filesErr := l.Files()
		if filesErr == nil {
			stdout.Close()
			stderr.Close()
		}
		l.Drain()
		return err
	}
	if after > 0 {
		l, err := New(cfg)
		if err == nil {
			err = write(l, 0, after)
		}
		if err == nil {
			err = l.Leave()
		}
		if err != nil {
			return fought{err: err}
		}
	}
	if err := set(); err != nil {
		return fought{err: err}
	}
	l, err := New(cfg)
	if err != nil {
		return fought{err: err}
	}
	_ = l.Resume() // may refuse a trap
	reader, err := OpenReader(dir, "web", event.Stdout, 0, io.SeekStart)
	if err == nil {
		err = write(l, after, after+6)
	}
	if err != nil {
		return fought{err: err}
	}
	reader.Hold()
	text, err := io.ReadAll(reader)
	f.followed = string(text)
	if err == nil {
		var follower *Reader
		if follower, err = openTail(dir, "web", event.Stdout, 2); err == nil {
			f.tail, err = io.ReadAll(follower)
			follower.Close()
		}
	}
	reader.Close()
	_ = l.Close() // a directory in the place of a FIFO is left
	_ = RemovePipes(root, "web")
	f.err = err
	return f
}

// fightInTime fails the test if fight does not end.
func fightInTime(t *testing.T, dir string, after int, set func() error) fought {
	t.Helper()
	ended := make(chan fought, 1)
	root := at(t, dir)
	go func() { ended <- fight(root, after, set) }()
	select {
	case f := <-ended:
		return f
	case <-time.After(patience):
		t.Fatal("it blocks")
	}
	return fought{}
}

// battlefield makes a directory of logs, and another one with a file of another
// user. Their paths are short enough for sockets.
func battlefield(t *testing.T) (dir, victim string) {
	t.Helper()
	base, err := os.MkdirTemp("", "log") //nolint:usetesting // t.TempDir is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	dir, victim = filepath.Join(base, "alloc", "logs"), filepath.Join(base, "home", "victim")
	for _, d := range []string{dir, filepath.Dir(victim)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(victim, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, victim
}

func checkVictim(t *testing.T, victim string) {
	t.Helper()
	if data, err := os.ReadFile(victim); err != nil || string(data) != secret {
		t.Errorf("the victim's file holds %q, %v", data, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(victim)); err != nil || len(entries) != 1 {
		t.Errorf("in the victim's directory: %v, %v", entries, err)
	}
}

// TestTrapsInTheLogsDirectory replaces every file of a log with everything that a
// task can create, before the log begins and while it is written: nothing blocks,
// nothing outside the directory is read or changed, and only output from before is
// lost.
func TestTrapsInTheLogsDirectory(t *testing.T) {
	t.Parallel()
	names := []string{
		"web.stdout.0", "web.stdout.1", "web.stdout.5", "web.stdout.9", "web.stdout.1125899906842624", "web.stdout.9223372036854775807",
		".web.stdout.purged", ".web.stdout.fifo", ".web.stderr.fifo", "web.stderr.0",
	}
	for _, trap := range traps {
		for _, name := range names {
			for _, after := range []int{0, 1, 5} {
				t.Run(fmt.Sprintf("%s as %s after %d", trap.name, name, after), func(t *testing.T) {
					t.Parallel()
					dir, victim := battlefield(t)
					f := fightInTime(t, dir, after, func() error {
						if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
							return err
						}
						return trap.set(filepath.Join(dir, name), victim)
					})
					if f.err != nil {
						t.Error(f.err)
					}
					checkVictim(t, victim)
					if trap.regular && strings.HasPrefix(name, "web.stdout.") {
						return // it counts as output
					}
					last := fmt.Sprintf("line %02d\n", after+5)
					if !strings.HasSuffix(f.followed, last) {
						t.Errorf("read %q, want it to end with %q", f.followed, last)
					}
					if !strings.HasSuffix(string(f.tail), last) {
						t.Errorf("tail %q, want the last line", f.tail)
					}
				})
			}
		}
	}
}

// TestReplacedLogsDirectory has a task replace alloc/logs, or alloc, by a link to
// a directory that is not its own.
func TestReplacedLogsDirectory(t *testing.T) {
	t.Parallel()
	for _, replaced := range []string{"alloc", "alloc/logs"} {
		base := leaktest.TempDir(t)
		victim := filepath.Join(base, "home")
		dir := filepath.Join(base, "a", "alloc", "logs")
		for _, d := range []string{dir, filepath.Join(victim, "logs")} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"web.stdout.0", "logs/web.stdout.0", ".web.stdout.fifo", "logs/.web.stdout.fifo"} {
			if err := os.WriteFile(filepath.Join(victim, name), []byte(secret), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var r recorder
		l := r.open(t, Config{Dir: at(t, dir), MaxFiles: 3, MaxFileSize: 8})
		stdout, _ := writers(t, l)
		write(t, stdout, "line 0\n")
		link := filepath.Join(base, "a", replaced)
		if err := os.Rename(link, filepath.Join(base, "moved")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, link); err != nil {
			t.Fatal(err)
		}

		// The open log continues in its file.
		for range 5 {
			write(t, stdout, "line 1\n")
		}
		if out, errs, err := l.Files(); err != nil {
			t.Error(err)
		} else {
			out.Close()
			errs.Close()
		}
		if got := r.text(event.Stdout); got != "line 0\n"+strings.Repeat("line 1\n", 5) {
			t.Errorf("announced %q", got)
		}
		// And nothing is read in the victim's directory.
		if reader, err := OpenReader(dir, "web", event.Stdout, 0, io.SeekStart); err == nil {
			reader.Close()
			t.Errorf("%s: the files behind the link are read", replaced)
		}
		if follower, err := openTail(dir, "web", event.Stdout, 9); err == nil {
			follower.Close()
			t.Errorf("%s: the tail behind the link is read", replaced)
		}
		for _, d := range []string{victim, filepath.Join(victim, "logs")} {
			entries, err := os.ReadDir(d)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.IsDir() {
					continue
				}
				if data, err := os.ReadFile(filepath.Join(d, e.Name())); err != nil || string(data) != secret {
					t.Errorf("%s holds %q, %v", e.Name(), data, err)
				}
			}
			if want := map[bool]int{true: 3, false: 2}[d == victim]; len(entries) != want {
				t.Errorf("in the victim's directory: %v", entries)
			}
		}
	}
}

// FuzzNames puts a trap with any name, or of any content, into the directory.
func FuzzNames(f *testing.F) {
	for i := range traps {
		for _, name := range []string{"web.stdout.1", ".web.stdout.purged", ".web.stderr.fifo", "web.stdout.-1", "web.stdout.007", "web.stdout.9223372036854775808"} {
			f.Add(name, byte(i), byte(i%7), []byte("3 40\n"))
		}
	}
	f.Fuzz(func(t *testing.T, name string, kind, after byte, content []byte) {
		dir, victim := battlefield(t)
		if strings.ContainsAny(name, "/\x00") || name == "." || name == ".." {
			t.Skip("no name of a file")
		}
		path := filepath.Join(dir, name)
		fightInTime(t, dir, int(after%8), func() error {
			_ = os.RemoveAll(path) // writing to a FIFO of the log would block this task
			if i := int(kind) % (len(traps) + 1); i < len(traps) {
				_ = traps[i].set(path, victim) // or it cannot have that name
			} else {
				_ = os.WriteFile(path, content, 0o600)
			}
			return nil
		})
		checkVictim(t, victim)
	})
}
