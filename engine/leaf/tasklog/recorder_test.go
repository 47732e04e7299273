package tasklog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// recorder keeps all that a Log announces and reports.
type recorder struct {
	mu      sync.Mutex
	bytes   [2]bytes.Buffer
	pieces  []recorded
	retain  bool
	err     error
	reports []error
	seen    func(event.Stream, []byte) // of each piece, when not nil
}

type recorded struct {
	stream event.Stream
	src    event.Source
	offset int64
	data   []byte
	at     time.Time
}

func (r *recorder) announce(s event.Stream, src event.Source, offset, length int64, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	data := make([]byte, length)
	if n, err := src.ReadAt(data, offset); n < len(data) {
		r.err = errors.Join(r.err, err)
	}
	r.bytes[s].Write(data)
	if r.retain {
		src.Retain()
		r.pieces = append(r.pieces, recorded{s, src, offset, data, at})
	}
	if r.seen != nil {
		r.seen(s, data)
	}
}

func (r *recorder) report(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, err)
}

// text returns the announced output of a stream.
func (r *recorder) text(s event.Stream) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes[s].String()
}

// open opens a log that r hears of. The test closes it at its end.
func (r *recorder) open(t testing.TB, cfg Config) *Log {
	t.Helper()
	if cfg.Dir == nil {
		cfg.Dir = at(t, leaktest.TempDir(t))
	}
	cfg.Task, cfg.Announce, cfg.Report = "web", r.announce, r.report
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if r.err != nil {
			t.Errorf("cannot read what was announced: %v", r.err)
		}
	})
	return l
}

// at opens a directory for the time of the test.
func at(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// writers returns the log's writers in memory.
func writers(t testing.TB, l *Log) (stdout, stderr io.WriteCloser) {
	t.Helper()
	stdout, stderr, err := l.Writers()
	if err != nil {
		t.Fatal(err)
	}
	return stdout, stderr
}

func write(t testing.TB, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

// onDisk returns the files of a stream in their order, and their numbers.
func onDisk(t testing.TB, dir string, s event.Stream) (files [][]byte, indexes []int) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if indexes, err = list(d, "web."+s.String()); err != nil {
		t.Fatal(err)
	}
	for _, index := range indexes {
		data, err := root.ReadFile(fileName("web."+s.String(), index))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	return files, indexes
}

// allOnDisk returns the files of a stream joined.
func allOnDisk(t testing.TB, dir string, s event.Stream) string {
	t.Helper()
	files, _ := onDisk(t, dir, s)
	return string(bytes.Join(files, nil))
}
