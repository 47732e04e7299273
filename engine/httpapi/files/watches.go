package files

import (
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// watches wakes the followers of files when something happens in the files'
// directories. There is a watcher only while a file is followed, because the
// number of watchers is limited for each user.
type watches struct {
	mu      sync.Mutex
	watcher *fsnotify.Watcher
	ended   chan struct{} // closed when the watcher is no longer read
	waiting map[string]map[chan struct{}]bool
}

// follow returns a channel that receives a value when something has happened in
// a directory. The caller must call leave. Without a watcher the channel stays
// empty; streams also check their file every second.
func (w *watches) follow(dir string) (wake <-chan struct{}, leave func()) {
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watcher == nil {
		watcher, err := fsnotify.NewWatcher()
		if err != nil {
			return ch, func() {}
		}
		w.watcher, w.ended, w.waiting = watcher, make(chan struct{}), map[string]map[chan struct{}]bool{}
		go w.read(watcher, w.ended)
	}
	if w.waiting[dir] == nil {
		w.waiting[dir] = map[chan struct{}]bool{}
		_ = w.watcher.Add(dir) // if it fails, streams still check every second
	}
	w.waiting[dir][ch] = true
	return ch, func() { w.leave(dir, ch) }
}

func (w *watches) leave(dir string, ch chan struct{}) {
	w.mu.Lock()
	delete(w.waiting[dir], ch)
	if len(w.waiting[dir]) == 0 {
		delete(w.waiting, dir)
		_ = w.watcher.Remove(dir) // it may be gone
	}
	if len(w.waiting) > 0 {
		w.mu.Unlock()
		return
	}
	watcher, ended := w.watcher, w.ended
	w.watcher = nil
	w.mu.Unlock()
	_ = watcher.Close()
	<-ended
}

func (w *watches) read(watcher *fsnotify.Watcher, ended chan<- struct{}) {
	defer close(ended)
	for {
		select {
		case e, ok := <-watcher.Events:
			if !ok {
				return
			}
			w.wake(func(dir string) bool { return dir == filepath.Dir(e.Name) })
		case _, ok := <-watcher.Errors: // events were lost because there were too many
			if !ok {
				return
			}
			w.wake(func(string) bool { return true })
		}
	}
}

// wake wakes the followers of files in the directories that concerns accepts.
func (w *watches) wake(concerns func(dir string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for dir, waiting := range w.waiting {
		if !concerns(dir) {
			continue
		}
		for ch := range waiting {
			select {
			case ch <- struct{}{}:
			default: // it was woken already
			}
		}
	}
}
