package tasklog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

var _ drivers.Output = (*Log)(nil)

// plenty keeps all that a test writes.
var plenty = Config{MaxFiles: 1000, MaxFileSize: 1 << 20}

func TestWritersCaptureInTheOrderOfWriting(t *testing.T) {
	t.Parallel()
	var r recorder
	r.retain = true
	l := r.open(t, plenty)
	stdout, stderr := writers(t, l)
	for _, text := range []string{"a\n", "b\n", "c"} {
		write(t, stdout, text)
		write(t, stderr, "E"+text)
	}
	var order []string
	for _, p := range r.pieces {
		order = append(order, p.stream.String()+":"+string(p.data))
		p.src.Release()
	}
	want := []string{"stdout:a\n", "stderr:Ea\n", "stdout:b\n", "stderr:Eb\n", "stdout:c", "stderr:Ec"}
	if !slices.Equal(order, want) {
		t.Errorf("announced %q, want %q", order, want)
	}
	if got := allOnDisk(t, l.cfg.Dir.Name(), event.Stdout); got != "a\nb\nc" {
		t.Errorf("stdout on disk: %q", got)
	}
	if got := allOnDisk(t, l.cfg.Dir.Name(), event.Stderr); got != "Ea\nEb\nEc" {
		t.Errorf("stderr on disk: %q", got)
	}
}

func TestWritersKeepVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		r.retain = true
		l := r.open(t, plenty)
		stdout, _ := writers(t, l)
		start := time.Now()
		done := make(chan struct{})
		time.AfterFunc(time.Hour, func() {
			defer close(done)
			write(t, stdout, "an hour later\n")
		})
		<-done
		l.Drain()
		p := r.pieces[0]
		p.src.Release()
		if got := p.at.Sub(start); got != time.Hour {
			t.Errorf("read after %v, want 1h", got)
		}
	})
}

func TestClosedWriterRefuses(t *testing.T) {
	t.Parallel()
	var r recorder
	l := r.open(t, plenty)
	stdout, stderr := writers(t, l)
	stdout.Close()
	if _, err := stdout.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed writer: %v", err)
	}
	write(t, stderr, "still open\n")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := stderr.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed log: %v", err)
	}
	if _, _, err := l.Files(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("files of a closed log: %v", err)
	}
	l.Drain()
	if err := l.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestNewRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	for name, cfg := range map[string]Config{
		"no task":     {Dir: at(t, dir), MaxFiles: 1, MaxFileSize: 1},
		"a long name": {Dir: at(t, dir), Task: strings.Repeat("x", MaxName+1), MaxFiles: 1, MaxFileSize: 1},
		"a path":      {Dir: at(t, dir), Task: "../web", MaxFiles: 1, MaxFileSize: 1},
		"no files":    {Dir: at(t, dir), Task: "web", MaxFileSize: 1},
		"no size":     {Dir: at(t, dir), Task: "web", MaxFiles: 1},
	} {
		if l, err := New(cfg); err == nil {
			l.Close()
			t.Errorf("%s: no error", name)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestFilesExistFromTheBeginning(t *testing.T) {
	t.Parallel()
	var r recorder
	l := r.open(t, plenty)
	stdout, _ := writers(t, l)
	write(t, stdout, "a\n")
	info, err := os.Stat(filepath.Join(l.cfg.Dir.Name(), "web.stdout.0"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode()&^0o644 != 0 || info.Mode()&0o600 != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if files, _ := onDisk(t, l.cfg.Dir.Name(), event.Stderr); len(files) != 1 || len(files[0]) != 0 {
		t.Errorf("stderr has %d files, want an empty one", len(files))
	}
}

func TestLinkInTheLogsDirectoryIsNotFollowedOut(t *testing.T) {
	t.Parallel()
	victim := filepath.Join(leaktest.TempDir(t), "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := leaktest.TempDir(t)
	if err := os.Symlink(victim, filepath.Join(dir, "web.stdout.1")); err != nil {
		t.Fatal(err)
	}
	var r recorder
	l := r.open(t, Config{Dir: at(t, dir), MaxFiles: 2, MaxFileSize: 4})
	stdout, _ := writers(t, l)
	write(t, stdout, "123\n456\n")
	if data, err := os.ReadFile(victim); err != nil || len(data) > 0 {
		t.Errorf("victim holds %q, %v", data, err)
	}
	if got := r.text(event.Stdout); got != "123\n456\n" {
		t.Errorf("announced %q", got)
	}
	if got := allOnDisk(t, dir, event.Stdout); got != "123\n456\n" {
		t.Errorf("on disk %q", got)
	}
}

func TestTruncatedFileIsReadRight(t *testing.T) {
	t.Parallel()
	var r recorder
	l := r.open(t, plenty)
	stdout, _ := writers(t, l)
	write(t, stdout, "before\n")
	if err := os.Truncate(filepath.Join(l.cfg.Dir.Name(), "web.stdout.0"), 0); err != nil {
		t.Fatal(err)
	}
	write(t, stdout, "after\n")
	if got := r.text(event.Stdout); got != "before\nafter\n" {
		t.Errorf("announced %q", got)
	}
}

func TestDisabledLeavesNoFiles(t *testing.T) {
	t.Parallel()
	var r recorder
	l := r.open(t, Config{Disabled: true})
	runTask(t, l, command("random", 5, 100<<10))
	for s, want := range [][][]byte{randomPieces(5, 100<<10), randomPieces(6, 100<<10)} {
		if got := r.text(event.Stream(s)); got != join(want) {
			t.Errorf("%s: announced %d bytes, which differ", event.Stream(s), len(got))
		}
	}
	entries, err := os.ReadDir(l.cfg.Dir.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type() != fs.ModeNamedPipe {
			t.Errorf("on disk: %v", e)
		}
	}
}
