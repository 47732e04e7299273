package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// gather is how long events of named files are gathered before their stamps are
	// compared.
	gather = 3 * time.Millisecond
	// gatherMost limits how long, on a machine where a comparison takes long.
	gatherMost = 50 * time.Millisecond
	// poll is the shortest interval between looks at all files, without fsnotify.
	poll = time.Second
	// share is how many times longer the interval is than a look takes.
	share = 20
	// touched is how old a modification may be that an event about attributes is
	// taken for.
	touched = 2 * time.Second
	// tick is how far the times of files may be behind the clock.
	tick = 10 * time.Millisecond
)

// Watcher sees changes by fsnotify or, where the system refuses that, by looking at
// the files again and again. Named files are compared with their last stamps, so
// that it does not matter how they are replaced. It is a Source.
type Watcher struct {
	say     func(string)
	every   time.Duration // the shortest interval of polling
	changes chan Change
	quit    chan struct{}
	ended   chan struct{}
	wanted  wanted

	// Owned by the goroutine.
	notify  *fsnotify.Watcher // nil: the files are polled
	units   []Unit
	dirs    map[string]bool             // watched
	inTrees map[string]map[string]bool  // directories of trees, by unit
	stamps  map[string]stamp            // of named files
	seen    map[string]map[string]stamp // of the files of trees by unit, when polling
	pending []Change                    // at most one for each unit
	newest  time.Time                   // later changes of files that are new here count
}

// NewWatcher returns a Watcher of nothing. It tells once, with say, if it has to
// poll. The caller must close it.
func NewWatcher(say func(string)) *Watcher {
	w := newWatcher(say)
	var err error
	if w.notify, err = fsnotify.NewWatcher(); err != nil {
		w.fallBack(err)
	}
	go w.run()
	return w
}

func newWatcher(say func(string)) *Watcher {
	return &Watcher{
		say: say, every: poll, changes: make(chan Change), quit: make(chan struct{}), ended: make(chan struct{}), wanted: newWanted(),
		dirs: map[string]bool{}, inTrees: map[string]map[string]bool{}, stamps: map[string]stamp{},
	}
}

// Changes returns the channel of changes.
func (w *Watcher) Changes() <-chan Change { return w.changes }

// Watch replaces what is watched.
func (w *Watcher) Watch(units []Unit, since time.Time) { w.wanted.set(units, since) }

// Close ends the watch.
func (w *Watcher) Close() {
	close(w.quit)
	<-w.ended
}

func (w *Watcher) run() {
	defer close(w.ended)
	check, look := time.NewTimer(time.Hour), time.NewTimer(time.Hour)
	check.Stop()
	look.Stop()
	gathering, took := false, time.Duration(0) // took: the last check
	gatherSome := func() {
		if !gathering { // otherwise a file that is written all the time would put off the check
			gathering = true
			check.Reset(min(max(gather, share*took), gatherMost))
		}
	}
	defer func() {
		if w.notify != nil {
			_ = w.notify.Close()
		}
	}()
	for {
		var events chan fsnotify.Event
		var failures chan error
		if w.notify != nil {
			events, failures = w.notify.Events, w.notify.Errors
		}
		var to chan Change
		var first Change
		if len(w.pending) > 0 {
			to, first = w.changes, w.pending[0]
		}
		select {
		case <-w.quit:
			return
		case to <- first:
			w.pending = w.pending[1:]
		case <-w.wanted.fresh:
			w.take()
			check.Reset(0)
			look.Reset(0)
		case e := <-events:
			w.handle(e)
			gatherSome()
		case <-failures: //nolint:errcheck // too many events: some are lost
			for _, u := range w.units {
				w.enterAll(u)
				for _, t := range u.Trees {
					w.tell(u.Key, t.dir)
				}
			}
			gatherSome()
		case <-check.C:
			gathering = false
			began := time.Now()
			w.check()
			took = time.Since(began)
		case <-look.C:
			if w.notify != nil {
				continue
			}
			began := time.Now()
			w.check()
			w.look()
			look.Reset(max(w.every, share*time.Since(began)))
		}
		if w.notify == nil && events != nil { // it was given up just now
			look.Reset(w.every)
		}
	}
}

func (w *Watcher) tell(key, path string) {
	for i, c := range w.pending {
		if c.Key == key {
			w.pending[i].Path = path
			return
		}
	}
	w.pending = append(w.pending, Change{key, path})
}

// take takes over the units of Watch. The trees of known units are watched already.
func (w *Watcher) take() {
	units, since := w.wanted.get()
	w.units, w.newest = units, since.Add(-tick)
	known := w.inTrees
	w.inTrees = map[string]map[string]bool{}
	for _, u := range w.units {
		if w.inTrees[u.Key] = known[u.Key]; known[u.Key] == nil {
			w.enterAll(u)
		}
	}
}

// enterAll watches the directories of the trees of a unit. Those of named files come
// with check.
func (w *Watcher) enterAll(u Unit) {
	w.inTrees[u.Key] = map[string]bool{}
	for _, t := range u.Trees {
		w.enter(u.Key, &t, t.dir, nil)
	}
}

// enter watches the directories of a tree at or below a path, and calls found with
// its files there.
func (w *Watcher) enter(key string, t *Tree, from string, found func(path string)) {
	t.walk(from, func(path string, entry fs.DirEntry) bool {
		switch {
		case entry.IsDir():
			w.inTrees[key][path] = true
			w.add(path)
		case found != nil:
			found(path)
		}
		return !w.isClosed() && (w.notify != nil || found != nil)
	})
}

func (w *Watcher) isClosed() bool {
	select {
	case <-w.quit:
		return true
	default:
		return false
	}
}

// add watches a directory, and reports whether it was not watched before.
func (w *Watcher) add(dir string) (added bool) {
	if w.notify == nil || w.dirs[dir] {
		return false
	}
	switch err := w.notify.Add(dir); {
	case err == nil:
		w.dirs[dir] = true
		return true
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		w.fallBack(err)
	}
	return false // it is gone already, or must not be read
}

// fallBack gives up fsnotify.
func (w *Watcher) fallBack(err error) {
	if w.notify != nil {
		_ = w.notify.Close()
		w.notify = nil
	}
	w.dirs = map[string]bool{}
	hint := ""
	if errors.Is(err, syscall.ENOSPC) {
		hint = "; fs.inotify.max_user_watches limits how many directories can be watched"
	}
	w.say(fmt.Sprintf("cannot be notified of changed files: %v: looking for changes every second%s", err, hint))
}

func (w *Watcher) handle(e fsnotify.Event) {
	path := e.Name
	if e.Op == fsnotify.Chmod { // also what touch does
		info, err := os.Lstat(path)
		if err != nil || time.Since(info.ModTime()) > touched {
			return
		}
	}
	gone := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	wasDir := gone && w.dirs[path]
	if wasDir {
		delete(w.dirs, path)
		for _, dirs := range w.inTrees {
			delete(dirs, path)
		}
	}
	isDir := false
	if e.Has(fsnotify.Create) {
		info, err := os.Lstat(path)
		isDir = err == nil && info.IsDir()
	}
	for _, u := range w.units {
		for _, t := range u.Trees {
			switch {
			case isDir && t.enters(path):
				w.enter(u.Key, &t, path, func(path string) { w.tell(u.Key, path) })
			case isDir:
			case wasDir && e.Has(fsnotify.Rename) && t.enters(path), t.holds(path): // of a removed directory, each file tells
				w.tell(u.Key, path)
			}
		}
	}
}

// check watches the directories that named files are in by now, and compares the
// files with their stamps.
func (w *Watcher) check() {
	needed := map[string]bool{}
	for again := w.notify != nil; again; {
		again = false
		clear(needed)
		for path := range w.anchors() {
			for _, dir := range around(path) {
				needed[dir] = true
				again = w.add(dir) || again
			}
		}
	}
	for _, u := range w.units {
		for _, t := range u.Trees { // one may have come into being
			if w.notify != nil && !w.inTrees[u.Key][t.dir] {
				w.enter(u.Key, &t, t.dir, func(path string) { w.tell(u.Key, path) })
			}
		}
	}
	for _, dirs := range w.inTrees {
		for dir := range dirs {
			needed[dir] = true
		}
	}
	for dir := range w.dirs {
		if !needed[dir] && w.notify != nil {
			delete(w.dirs, dir)
			_ = w.notify.Remove(dir) // it may be gone
		}
	}
	stamps := map[string]stamp{}
	for _, u := range w.units {
		for _, path := range u.Files {
			now := stampOf(path)
			before, known := w.stamps[path]
			if known && now != before || !known && now.modified.After(w.newest) {
				w.tell(u.Key, path)
			}
			stamps[path] = now
		}
	}
	w.stamps = stamps
}

// anchors returns the paths that must be watched even while they do not exist.
func (w *Watcher) anchors() map[string]bool {
	paths := map[string]bool{}
	for _, u := range w.units {
		for _, path := range u.Files {
			paths[path] = true
		}
		for _, t := range u.Trees {
			paths[t.dir] = true
		}
	}
	return paths
}

// look compares the files of all trees with their stamps.
func (w *Watcher) look() {
	seen := map[string]map[string]stamp{}
	for _, u := range w.units {
		before, known := w.seen[u.Key]
		now := map[string]stamp{}
		for _, t := range u.Trees {
			t.walk(t.dir, func(path string, entry fs.DirEntry) bool {
				if info, err := entry.Info(); err == nil && !info.IsDir() {
					now[path] = stamp{size: info.Size(), modified: info.ModTime()}
				}
				return !w.isClosed()
			})
		}
		for path, s := range now {
			if known && s != before[path] || !known && s.modified.After(w.newest) {
				w.tell(u.Key, path)
			}
		}
		for path := range before {
			if _, there := now[path]; !there {
				w.tell(u.Key, path)
			}
		}
		seen[u.Key] = now
	}
	w.seen = seen
}
