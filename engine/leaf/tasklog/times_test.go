package tasklog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// timed is the stdout of a task that writes in virtual time.
type timed struct {
	t     *testing.T
	cfg   Config
	log   *Log
	out   io.Writer
	start time.Time
}

func newTimed(t *testing.T, maxFiles int, maxFileSize int64) *timed {
	t.Helper()
	top := leaktest.TempDir(t)
	logs := filepath.Join(top, "alloc", "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	w := &timed{t: t, start: time.Now()}
	w.cfg = Config{Dir: at(t, logs), Task: "web", MaxFiles: maxFiles, MaxFileSize: maxFileSize, Times: filepath.Join(top, ".times")}
	w.open()
	return w
}

// open opens the log, as an engine does that takes up the task.
func (w *timed) open() {
	w.t.Helper()
	var err error
	if w.log, err = New(w.cfg); err != nil {
		w.t.Fatal(err)
	}
	log := w.log
	w.t.Cleanup(func() { log.Close() })
	w.out, _ = writers(w.t, w.log)
}

// write writes a text, and then lets the time pass.
func (w *timed) write(text string, pause time.Duration) {
	w.t.Helper()
	write(w.t, w.out, text)
	<-time.After(pause)
}

func (w *timed) part() Part {
	return Part{Logs: w.cfg.Dir.Name(), Times: w.cfg.Times, Task: "web", Stream: event.Stdout, Tail: -1}
}

// read returns a part, each piece behind the milliseconds since the start.
func (w *timed) read(p Part) []string {
	w.t.Helper()
	r, err := p.Open()
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	return w.pieces(r)
}

func (w *timed) pieces(r *Reader) (pieces []string) {
	w.t.Helper()
	buf := make([]byte, 1000)
	for {
		n, err := r.Read(buf)
		if errors.Is(err, io.EOF) {
			return pieces
		}
		if err != nil {
			w.t.Fatal(err)
		}
		pieces = append(pieces, fmt.Sprintf("%d %s", r.Time().Sub(w.start).Milliseconds(), buf[:n]))
	}
}

func (w *timed) want(p Part, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.read(p)); diff != "" {
		w.t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every piece of output has the time at which it was read, to within a step; also
// after a rotation and in the log of another engine. A file takes its times along.
func TestTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTimed(t, 2, 8)
		w.write("a\n", 5*time.Millisecond)
		w.write("b\n", stampStep)
		w.write("c", time.Second)
		w.want(w.part(), "0 a\nb\n", "15 c")
		w.write("c\n", time.Second)
		w.write("d\n", time.Second)
		w.want(w.part(), "0 a\nb\n", "15 c", "1015 c\n", "2015 d\n")
		if err := w.log.Leave(); err != nil {
			t.Fatal(err)
		}
		w.open()
		w.write("e\n", time.Second)
		w.want(w.part(), "0 a\nb\n", "15 c", "1015 c\n", "2015 d\n", "3015 e\n")
		w.write("1234567\n", time.Second)
		w.want(w.part(), "2015 d\n", "3015 e\n", "4015 1234567\n")
		entries, err := os.ReadDir(w.cfg.Times)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if !slices.Equal(names, []string{"web.stdout.1", "web.stdout.2"}) {
			t.Errorf("left are %q", names)
		}
	})
}

// A follower learns the times of new output, and those of a file that was rotated
// away while the follower held it.
func TestTimesOfAFollower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTimed(t, 1, 4)
		r, err := w.part().Open()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var got []string
		w.write("a\n", time.Second)
		got = append(got, w.pieces(r)...)
		w.write("b\n", time.Second)
		for _, text := range []string{"c\n", "d\n", "e\n", "f\n"} {
			w.write(text, time.Second)
			r.Hold()
		}
		got = append(got, w.pieces(r)...)
		if diff := cmp.Diff([]string{"0 a\n", "1000 b\n", "2000 c\n", "3000 d\n", "4000 e\n", "5000 f\n"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The last lines, and those since a time, are whole lines.
func TestParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTimed(t, 10, 8)
		w.write("a\nb", time.Second)
		w.write("b\nc\n", time.Second)
		w.write("d\ne", time.Second)
		w.write("e\n", time.Second)
		tail := func(lines int, since time.Duration) Part {
			p := w.part()
			p.Tail = lines
			if since >= 0 {
				p.Since = w.start.Add(since)
			}
			return p
		}
		w.want(tail(-1, 0), "0 a\nb", "1000 b\nc\n", "2000 d\ne", "3000 e\n")
		w.want(tail(-1, time.Millisecond), "0 b", "1000 b\nc\n", "2000 d\ne", "3000 e\n")
		w.want(tail(-1, time.Second), "0 b", "1000 b\nc\n", "2000 d\ne", "3000 e\n")
		w.want(tail(-1, 1500*time.Millisecond), "2000 d\ne", "3000 e\n")
		w.want(tail(-1, 3*time.Second), "2000 e", "3000 e\n")
		w.want(tail(-1, 4*time.Second))
		w.want(tail(1, 0), "2000 e", "3000 e\n")
		w.want(tail(2, -1), "2000 d\ne", "3000 e\n")
		w.want(tail(3, time.Second), "1000 c\n", "2000 d\ne", "3000 e\n")
		w.want(tail(3, 2*time.Second), "2000 d\ne", "3000 e\n")
		w.want(tail(0, 0))
	})
}

// The file of times stays small: the more times it has, the farther apart they are.
func TestTimesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTimed(t, 1, 1<<20)
		w.write("a\n", time.Second)
		name := filepath.Join(w.cfg.Times, "web.stdout.0")
		for _, tt := range []struct {
			stamps, left int64
			step         time.Duration
		}{
			{slowStamps - 1, slowStamps, stampStep},
			{slowStamps, slowStamps + 1, 2 * stampStep},
			{3 * slowStamps, 3*slowStamps + 1, 8 * stampStep},
			{maxStamps, maxStamps, stampStep << 30},
			{9 * maxStamps, 9 * maxStamps, stampStep << 30},
		} {
			if err := os.Truncate(name, tt.stamps*stampSize); err != nil {
				t.Fatal(err)
			}
			if err := w.log.Leave(); err != nil {
				t.Fatal(err)
			}
			w.open()
			w.write("b\n", time.Second)
			s := &w.log.streams[event.Stdout].files.stamper
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() != tt.left*stampSize || s.step != tt.step {
				t.Errorf("of %d: %d bytes, %v", tt.stamps, info.Size(), s.step)
			}
		}
	})
}

// A time that was not written whole counts for none, and harms no later one.
func TestTornTime(t *testing.T) {
	t.Parallel()
	for cut := int64(1); cut < stampSize; cut++ {
		synctest.Test(t, func(t *testing.T) {
			w := newTimed(t, 10, 100)
			w.write("a\n", time.Second)
			w.write("b\n", time.Second)
			if err := os.Truncate(filepath.Join(w.cfg.Times, "web.stdout.0"), 2*stampSize-cut); err != nil {
				t.Fatal(err)
			}
			w.want(w.part(), "0 a\nb\n")
			w.write("c\n", time.Second)
			w.want(w.part(), "0 a\nb\n", "2000 c\n")
		})
	}
}

// A user who empties a file to make room empties its times too.
func TestTimesOfATruncatedFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTimed(t, 10, 100)
		w.write("a\n", time.Second)
		w.write("b\n", time.Second)
		if err := os.Truncate(filepath.Join(w.cfg.Dir.Name(), "web.stdout.0"), 0); err != nil {
			t.Fatal(err)
		}
		w.write("c\n", time.Second)
		w.write("d\n", time.Second)
		w.want(w.part(), "2000 c\n", "3000 d\n")
	})
}

// Output without times has that of its file, and that is enough for Since.
func TestOutputWithoutTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTimed(t, 10, 100)
		w.cfg.Times = ""
		w.open()
		w.write("a\nb\n", 0)
		name := filepath.Join(w.cfg.Dir.Name(), "web.stdout.0")
		if err := os.Chtimes(name, w.start, w.start.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		p := w.part()
		p.Times = filepath.Join(filepath.Dir(name), "none")
		w.want(p, "1000 a\nb\n")
		p.Since = w.start.Add(time.Second)
		w.want(p, "1000 a\nb\n")
		p.Since = w.start.Add(2 * time.Second)
		w.want(p)
	})
}

// Whatever takes the place of the times or of their directory: nothing is written
// through it, nothing blocks, and the output is there.
func TestHostileTimes(t *testing.T) {
	t.Parallel()
	for _, trap := range traps {
		for _, place := range []string{"file", "directory"} {
			t.Run(trap.name+" in the place of the "+place, func(t *testing.T) {
				t.Parallel()
				w := newTimed(t, 2, 8)
				victim := filepath.Join(leaktest.TempDir(t), "victim")
				if err := os.WriteFile(victim, []byte(secret), 0o600); err != nil {
					t.Fatal(err)
				}
				name := w.cfg.Times
				if place == "file" {
					if err := os.Mkdir(name, 0o700); err != nil {
						t.Fatal(err)
					}
					name = filepath.Join(name, "web.stdout.0")
				}
				if err := trap.set(name, victim); errors.Is(err, unix.ENAMETOOLONG) || errors.Is(err, unix.EINVAL) {
					t.Skipf("there is no such trap here: %v", err)
				} else if err != nil {
					t.Fatal(err)
				}
				write(t, w.out, "one\n")
				if got := w.read(w.part()); len(got) != 1 || !strings.HasSuffix(got[0], " one\n") {
					t.Errorf("read %q", got)
				}
				write(t, w.out, "two two\n") // rotates
				write(t, w.out, "three\n")
				if got := w.read(w.part()); !strings.Contains(strings.Join(got, ""), "three\n") {
					t.Errorf("read %q", got)
				}
				text, err := os.ReadFile(victim)
				if err != nil || string(text) != secret {
					t.Errorf("the file of somebody else holds %q, %v", text, err)
				}
				if entries, err := os.ReadDir(filepath.Dir(victim)); err != nil || len(entries) != 1 {
					t.Errorf("beside it: %v, %v", entries, err)
				}
			})
		}
	}
}

// Times in any order, of any offset, end no reader and cost no more than theirs.
func TestNonsenseTimes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"zeros":      strings.Repeat("\x00", 100*stampSize),
		"ones":       strings.Repeat("\xff", 100*stampSize),
		"backwards":  string(stamp{5, time.Unix(5, 0)}.bytes()) + string(stamp{1, time.Unix(1, 0)}.bytes()) + string(stamp{0, time.Unix(0, 1)}.bytes()),
		"far ahead":  string(stamp{1 << 62, time.Unix(5, 0)}.bytes()),
		"incomplete": "abc",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTimed(t, 2, 100)
			write(t, w.out, "a line\n")
			if err := os.WriteFile(filepath.Join(w.cfg.Times, "web.stdout.0"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := w.part().Open()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if got := readOn(t, r); got != "a line\n" {
				t.Errorf("read %q", got)
			}
			p := w.part()
			p.Since = time.Unix(3, 0)
			w.read(p) // ends
		})
	}
}

// A silent task has no file of times, and no directory for it.
func TestNoTimesOfNothing(t *testing.T) {
	t.Parallel()
	w := newTimed(t, 2, 100)
	if _, err := os.Lstat(w.cfg.Times); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before any output: %v", err)
	}
	write(t, w.out, "x")
	info, err := os.Stat(w.cfg.Times)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}
