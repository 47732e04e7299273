package tasklog

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// patience bounds every wait for a process.
const patience = time.Minute

func join(pieces [][]byte) string { return string(bytes.Join(pieces, nil)) }

func TestEveryByteOfAProcessIsCaptured(t *testing.T) {
	t.Parallel()
	for seed := range 4 {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			const total = 3 << 20
			var r recorder
			l := r.open(t, Config{MaxFiles: 1000, MaxFileSize: 100_000})
			runTask(t, l, command("random", seed, total))
			for i, pieces := range [][][]byte{randomPieces(uint64(seed), total), randomPieces(uint64(seed+1), total)} {
				s, want := event.Stream(i), join(pieces)
				if got := r.text(s); got != want {
					t.Errorf("%s: announced %d bytes, which differ from the %d written", s, len(got), len(want))
				}
				if got := allOnDisk(t, l.cfg.Dir.Name(), s); got != want {
					t.Errorf("%s: %d bytes on disk, which differ from the %d written", s, len(got), len(want))
				}
			}
		})
	}
}

func TestRestartsGoOnInTheSameFile(t *testing.T) {
	t.Parallel()
	var r recorder
	l := r.open(t, plenty)
	for range 3 {
		runTask(t, l, command("count", 2))
	}
	want := strings.Repeat("0\n1\nend\n", 3)
	if got := allOnDisk(t, l.cfg.Dir.Name(), event.Stdout); got != want {
		t.Errorf("on disk %q, want %q", got, want)
	}
	if got := r.text(event.Stdout); got != want {
		t.Errorf("announced %q, want %q", got, want)
	}
}

func TestTaskOpensItsOutputAgain(t *testing.T) {
	t.Parallel()
	var r recorder
	l := r.open(t, plenty)
	runTask(t, l, command("reopen"))
	if got := r.text(event.Stdout); got != "reopened\n" {
		t.Errorf("announced %q", got)
	}
}

func TestTaskEndOfFIFO(t *testing.T) {
	t.Parallel()
	var r recorder
	l := r.open(t, plenty)
	stdout, stderr, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	defer stderr.Close()
	flags, err := unix.FcntlInt(stdout.Fd(), unix.F_GETFL, 0)
	if err != nil {
		t.Fatal(err)
	}
	if flags&unix.O_ACCMODE != unix.O_RDWR || flags&unix.O_NONBLOCK != 0 {
		t.Errorf("flags %#x, want read and write, blocking", flags)
	}
	name := filepath.Join(l.cfg.Dir.Name(), ".web.stdout.fifo")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != fs.ModeNamedPipe|0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("the FIFO is left: %v", err)
	}
}

func TestStreamsKeepTheOrderOfReading(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	r := recorder{seen: func(s event.Stream, data []byte) { seen <- s.String() + ":" + string(data) }}
	l := r.open(t, plenty)
	stdout, stderr, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	defer stderr.Close()
	for i := range 100 {
		text := strconv.Itoa(i) + "\n"
		for s, f := range []*os.File{stdout, stderr} {
			write(t, f, text)
			if got, want := <-seen, event.Stream(s).String()+":"+text; got != want {
				t.Fatalf("announced %q, want %q", got, want)
			}
		}
	}
}

func TestDrainDoesNotWaitForWhoHoldsTheFIFO(t *testing.T) {
	t.Parallel()
	var r recorder
	l := r.open(t, Config{MaxFiles: 2, MaxFileSize: 1 << 20})
	cmd := command("orphan")
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runTask(t, l, cmd)
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("Drain does not return")
	}
	if !strings.Contains(r.text(event.Stdout), "last words\n") {
		t.Error("Drain returned before the task's last words were announced")
	}
	if err := unix.Kill(-cmd.Process.Pid, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	<-done
}

func TestDrainWithoutAProcess(t *testing.T) {
	t.Parallel()
	var r recorder
	l := r.open(t, plenty)
	stdout, stderr, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	defer stderr.Close()
	for i := range 1000 {
		want := strconv.Itoa(i) + "\n"
		write(t, stdout, want)
		l.Drain()
		if got := r.text(event.Stdout); !strings.HasSuffix(got, want) {
			t.Fatalf("Drain returned before %q was announced", want)
		}
	}
}

func TestReplacedFIFOIsRefused(t *testing.T) {
	t.Parallel()
	var r recorder
	l := r.open(t, plenty)
	runTask(t, l, command("count", 1))
	name := filepath.Join(l.cfg.Dir.Name(), ".web.stderr.fifo")
	for what, replace := range map[string]func() error{
		"link": func() error { return os.Symlink("/dev/null", name) },
		"file": func() error { return os.WriteFile(name, nil, 0o600) },
		"FIFO": func() error { return unix.Mkfifo(name, 0o600) },
	} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := replace(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.Files(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// TestOutputSurvivesTheEngine kills an engine while its task writes. The task
// continues, and the next engine reads on: nothing appears twice, and nothing is
// missing but the bytes that the first engine had read and not yet written.
func TestOutputSurvivesTheEngine(t *testing.T) {
	t.Parallel()
	const total = 400_000
	dir := leaktest.TempDir(t)
	engine := command("engine", dir, total)
	_ = engine.Run() // ends by its own SIGKILL
	if status, ok := engine.ProcessState.Sys().(interface{ Signaled() bool }); !ok || !status.Signaled() {
		t.Fatalf("the engine was not killed: %v", engine.ProcessState)
	}

	end := make(chan struct{})
	var tail []byte
	r := recorder{seen: func(_ event.Stream, data []byte) {
		tail = append(tail, data...)
		tail = tail[max(0, len(tail)-len("end\n")):]
		if string(tail) == "end\n" {
			close(end)
		}
	}}
	l := r.open(t, Config{Dir: at(t, dir), MaxFiles: 100, MaxFileSize: 1 << 20})
	if err := l.Resume(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-end:
	case <-time.After(patience):
		t.Fatal("the task's last line did not come")
	}

	var want strings.Builder
	for i := range total {
		want.WriteString(strconv.Itoa(i) + "\n")
	}
	want.WriteString("end\n")
	got := allOnDisk(t, dir, event.Stdout)
	common := 0
	for common < len(got) && got[common] == want.String()[common] {
		common++
	}
	missing := want.Len() - len(got)
	if missing < 0 || missing > bufferSize {
		t.Fatalf("%d bytes are missing", missing)
	}
	if got[common:] != want.String()[common+missing:] {
		t.Errorf("the output is not whole after byte %d", common)
	}
}

func TestLeaveKeepsTheOutputForTheNext(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	cfg := Config{Dir: at(t, dir), Task: "web", MaxFiles: 1, MaxFileSize: 1 << 20}
	first, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := first.Files()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	defer stderr.Close()
	write := func(text string) {
		t.Helper()
		if _, err := stdout.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n")
	first.Drain()
	if err := errors.Join(first.Leave(), first.Leave(), first.Close()); err != nil {
		t.Fatal(err)
	}
	write("between\n")
	second, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Resume(); err != nil {
		t.Fatal(err)
	}
	write("after\n")
	second.Drain()
	if got := allOnDisk(t, dir, event.Stdout); got != "before\nbetween\nafter\n" {
		t.Errorf("on disk: %q", got)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
