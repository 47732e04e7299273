package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long tests wait for a change at most, and silence for how long
// there must be none.
const (
	patience = time.Minute
	silence  = 50 * time.Millisecond
)

// scene is a directory with a watcher.
type scene struct {
	*testing.T
	dir string
	w   *Watcher
}

func newScene(t *testing.T) *scene {
	t.Helper()
	return sceneOf(t, NewWatcher(func(text string) { t.Log(text) }))
}

func sceneOf(t *testing.T, w *Watcher) *scene {
	t.Helper()
	t.Cleanup(w.Close)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &scene{T: t, dir: dir, w: w}
}

func (s *scene) path(name string) string { return filepath.Join(s.dir, name) }

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) write(name, text string) {
	s.Helper()
	s.must(os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	s.must(os.WriteFile(s.path(name), []byte(text), 0o644))
}

// watch watches units and waits until that has begun: a change of a probe is seen.
func (s *scene) watch(units ...Unit) {
	s.Helper()
	s.w.Watch(append(slices.Clone(units), Unit{Key: "probe", Files: []string{s.path("probe")}}), time.Now())
	s.write("probe", "")
	for i := 0; ; i++ {
		select {
		case c := <-s.w.Changes():
			if c.Key == "probe" {
				s.w.Watch(units, time.Now())
				s.quiet()
				return
			}
		case <-time.After(patience):
			s.Fatal("nothing is watched")
		}
	}
}

// sees waits for a change of the unit "u".
func (s *scene) sees(what string) {
	s.Helper()
	select {
	case c := <-s.w.Changes():
		if c.Key != "u" {
			s.Errorf("%s: unit %q changed", what, c.Key)
		}
	case <-time.After(patience):
		s.Fatalf("%s was not seen", what)
	}
	s.quiet()
}

// quiet takes changes until none are left.
func (s *scene) quiet() {
	for {
		select {
		case <-s.w.Changes():
		case <-time.After(silence):
			return
		}
	}
}

func (s *scene) seesNothing(what string) {
	s.Helper()
	select {
	case c := <-s.w.Changes():
		s.Errorf("%s was seen: %v", what, c)
	case <-time.After(silence):
	}
}

func TestNamedFiles(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *scene){
		"written":           func(s *scene) { s.write("a/f", "22") },
		"replaced":          func(s *scene) { s.write("a/tmp", "2"); s.must(os.Rename(s.path("a/tmp"), s.path("a/f"))) },
		"moved to a backup": func(s *scene) { s.must(os.Rename(s.path("a/f"), s.path("a/f~"))); s.write("a/f", "2") },
		"deleted and made again": func(s *scene) {
			s.must(os.Remove(s.path("a/f")))
			s.sees("the removal")
			s.write("a/f", "2")
		},
		"deleted with its directory": func(s *scene) {
			s.must(os.RemoveAll(s.path("a")))
			s.sees("the removal")
			s.write("a/f", "2")
		},
		"in a directory that is replaced": func(s *scene) {
			s.write("b/f", "2")
			s.must(os.Rename(s.path("a"), s.path("old")))
			s.must(os.Rename(s.path("b"), s.path("a")))
		},
		"touched": func(s *scene) { s.must(os.Chtimes(s.path("a/f"), time.Time{}, time.Now())) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.write("a/f", "1")
			s.watch(Unit{Key: "u", Files: []string{s.path("a/f")}})
			s.write("a/other", "")
			s.seesNothing("another file")
			change(s)
			s.sees(name)
			s.write("a/f", "333")
			s.sees("a later save")
		})
	}
}

// Kubernetes replaces the files of a volume by moving one symbolic link.
func TestSymbolicLinks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("v/..1/job", "1")
	s.write("v/..2/job", "1")
	link := func(from, to string) {
		t.Helper()
		s.must(os.Symlink(to, s.path(from)))
	}
	link("v/..data", "..1")
	link("v/job", "..data/job")
	link("mine", "v/job")
	s.watch(Unit{Key: "u", Files: []string{s.path("mine")}})
	link("v/..tmp", "..2")
	s.must(os.Rename(s.path("v/..tmp"), s.path("v/..data")))
	s.sees("the other link")
	s.write("v/..2/job", "22")
	s.sees("a save of the new file")
	s.write("v/..1/job", "111")
	s.seesNothing("a save of the old file")
	s.must(os.Remove(s.path("v/..data")))
	s.sees("the missing link")
	link("v/..data", "..data") // a loop
	s.must(os.Remove(s.path("v/..data")))
	link("v/..data", "..1")
	s.sees("the link to the first file")
}

func TestTrees(t *testing.T) {
	t.Parallel()
	for _, polled := range []bool{false, true} {
		t.Run(fmt.Sprintf("polled %t", polled), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			if polled {
				s = sceneOf(t, newPolling(func(string) {}))
			}
			s.write("src/a/x.go", "1")
			s.write("src/vendor/v.go", "1")
			s.write("src/.git/g.go", "1")
			unit := Unit{Key: "u", Trees: NewTrees(s.dir, []string{"src/**/*.go", "conf/*"}, []string{"vendor"}, s.path("src/data"))}
			s.watch(unit)
			for what, path := range map[string]string{"a save": "src/a/x.go", "a new file": "src/a/y.go", "one in a new directory": "src/b/c/z.go", "the first one of a directory": "conf/f"} {
				s.write(path, what)
				s.sees(what)
			}
			for what, path := range map[string]string{"another file": "src/a/x.c", "an ignored one": "src/vendor/v.go", "a hidden one": "src/.git/g.go", "one of a run": "src/data/a/x.go", "a deep one": "conf/d/f"} {
				s.write(path, "x"+what)
				if !polled {
					s.seesNothing(what)
				}
			}
			s.must(os.RemoveAll(s.path("src/b")))
			s.sees("the removal")
			s.must(os.Rename(s.path("src"), s.path("old")))
			s.sees("the move of the whole tree")
			s.must(os.Rename(s.path("old"), s.path("src")))
			s.sees("the move back")
			s.write("src/a/x.go", "later")
			s.sees("a later save")
		})
	}
}

// newPolling returns a watcher that the system refuses its notifications.
func newPolling(say func(string)) *Watcher {
	w := newWatcher(say)
	w.every = time.Millisecond
	w.fallBack(syscall.ENOSPC)
	go w.run()
	return w
}

func TestFallBackIsToldOnce(t *testing.T) {
	t.Parallel()
	var told []string
	w := newPolling(func(text string) { told = append(told, text) })
	w.Watch([]Unit{{Key: "u", Trees: NewTrees(t.TempDir(), []string{"**"}, nil, "")}}, time.Now())
	w.Close()
	if len(told) != 1 || !strings.Contains(told[0], "every second") || !strings.Contains(told[0], "max_user_watches") {
		t.Errorf("told %q", told)
	}
}

// A file that changed before it was watched, but after it was read, has changed.
func TestChangeBeforeTheWatch(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	began := time.Now().Add(-time.Second)
	s.write("f", "1")
	s.w.Watch([]Unit{{Key: "u", Files: []string{s.path("f")}}}, began)
	s.sees("the change")
}

func TestManyFiles(t *testing.T) {
	t.Parallel()
	n := 100_000
	if testing.Short() {
		n = 1000
	}
	s := newScene(t)
	s.must(os.Mkdir(s.path("many"), 0o755))
	const links = 50_000 // a file has no more names on some file systems
	for i := range n {
		first := fmt.Sprint("first", i/links)
		if i%links == 0 {
			s.write(first, "1")
		}
		s.must(os.Link(s.path(first), s.path(fmt.Sprintf("many/%d.txt", i))))
	}
	s.watch(Unit{Key: "u", Trees: NewTrees(s.dir, []string{"many/**"}, nil, "")})
	began := time.Now()
	s.write("many/new.txt", "1")
	s.sees("a new file")
	t.Logf("seen after %v", time.Since(began)-silence)
}

// A look tells of what has changed since the last one, and of nothing else.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWatcher(func(string) {})
	w.units, w.newest = []Unit{{Key: "u", Trees: NewTrees(dir, []string{"**"}, nil, "")}}, time.Now().Add(time.Hour)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	look := func(what string, want ...Change) {
		t.Helper()
		w.pending = nil
		if w.look(); !slices.Equal(w.pending, want) {
			t.Errorf("%s: %v, want %v", what, w.pending, want)
		}
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(a, "1")
	look("what is older than the watch")
	look("nothing")
	write(b, "1")
	look("a new file", Change{"u", b})
	write(a, "longer")
	look("another size", Change{"u", a})
	look("nothing again")
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	look("a removal", Change{"u", b})
	w.seen, w.newest = nil, time.Time{}
	look("what is newer than the watch", Change{"u", a})
}
