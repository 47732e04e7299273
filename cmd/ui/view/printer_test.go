package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// pair returns a stage with a job of two tasks and no times, and its
// allocation.
func pair(t *testing.T, columns int, opts Options) (*stage, *event.Alloc) {
	opts.Jobs = []*api.Job{job("j", 1, task("a"), task("b"))}
	opts.Time = ui.TimeNone
	return newStage(t, columns, opts), alloc("j", 0, "11111111")
}

func TestUnfinishedLineIsShownOnATerminalAndHeldBackInAPipe(t *testing.T) {
	t.Parallel()
	term, a := pair(t, 80, Options{})
	pipe, _ := pair(t, 0, Options{})
	for _, s := range []*stage{term, pipe} {
		s.writes(a, "a", event.Stdout, "Waiting")
		s.shows()
	}
	if got := term.screen.String(); got != "a │ Waiting" {
		t.Errorf("on the terminal %q", got)
	}
	if got := pipe.out.String(); got != "" {
		t.Errorf("in the pipe %q, before the line has ended", got)
	}
	for _, s := range []*stage{term, pipe} {
		s.writes(a, "a", event.Stdout, "...")
		s.shows()
		s.writes(a, "b", event.Stdout, "me too\n")
		s.shows()
		s.writes(a, "a", event.Stdout, " done\n")
		s.shows()
	}
	if got, want := term.screen.String(), "a │ Waiting...\nb │ me too\na …  done\n"; got != want {
		t.Errorf("on the terminal %q, want %q", got, want)
	}
	if got, want := pipe.out.String(), "b │ me too\na │ Waiting... done\n"; got != want {
		t.Errorf("in the pipe %q, want %q", got, want)
	}
}

func TestInterruptedLineWithoutMoreText(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 80, Options{})
	for _, w := range []struct{ task, text string }{{"a", "Waiting"}, {"b", "x\n"}, {"a", "\n"}, {"a", "next\n"}} {
		s.writes(a, w.task, event.Stdout, w.text)
		s.shows()
	}
	if got, want := s.screen.String(), "a │ Waiting\nb │ x\na │ next\n"; got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}

func TestEventBreaksAnOpenLine(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 80, Options{})
	s.writes(a, "a", event.Stdout, "Waiting")
	s.shows()
	s.happens(a, "b", event.Received())
	s.shows()
	if got, want := s.screen.String(), "a │ Waiting\nb · Received: Task received by client\n"; got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}

func TestProgressRewritesItsLine(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 80, Options{})
	for _, text := range []string{"10%\r", "50%\r", "100%\r", "\n", "done\n"} {
		s.writes(a, "a", event.Stdout, text)
		s.shows()
	}
	want := "a │ 10%" + eraseLine + "a │ 50%" + eraseLine + "a │ 100%\na │ done\n"
	if got := s.screen.String(); got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}

func TestInterruptedProgressGetsANewLine(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 80, Options{})
	for _, w := range []struct{ task, text string }{{"a", "10%"}, {"b", "x\n"}, {"a", "\r50%"}, {"a", "\r100%\n"}} {
		s.writes(a, w.task, event.Stdout, w.text)
		s.shows()
	}
	want := "a │ 10%\nb │ x\na │ 50%" + eraseLine + "a │ 100%\n"
	if got := s.screen.String(); got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}

func TestTaskColorContinuesInItsNextLine(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 80, Options{Color: ui.ColorAlways})
	s.writes(a, "a", event.Stdout, "\x1b[31mred\nstill\x1b[0m\nplain\n")
	s.shows()
	var got []string
	for line := range strings.Lines(s.screen.String()) {
		_, text, _ := strings.Cut(line, markStdout+"\x1b[22m ")
		got = append(got, text)
	}
	want := []string{"\x1b[31mred\x1b[0m\n", "\x1b[31mstill\x1b[0m\x1b[0m\n", "plain\n"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("shown %q, want %q", got, want)
	}
}

func TestPipeGetsUnchangedBytes(t *testing.T) {
	t.Parallel()
	for _, mode := range []ui.Mode{ui.Plain, ui.Quiet} {
		s, a := pair(t, 0, Options{Mode: mode})
		text := "\x00\x1b[2J\xff\r\x7f"
		s.writes(a, "a", event.Stdout, text+"\n")
		s.shows()
		if got, want := s.out.String(), "a │ "+text+"\n"; got != want {
			t.Errorf("%s: written %q, want %q", mode, got, want)
		}
	}
}

func TestQuietRunOfOneTaskIsItsOutput(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0, Options{Mode: ui.Quiet, Jobs: []*api.Job{job("j", 1, task("a"))}})
	a := alloc("j", 0, "11111111")
	s.writes(a, "a", event.Stdout, "one\ntw")
	s.writes(a, "a", event.Stderr, "o\x00\xff")
	s.dies(a, "a", 0, 0, "")
	s.ends(Result{})
	if got, want := s.out.String(), "one\ntwo\x00\xff"; got != want {
		t.Errorf("written %q, want %q", got, want)
	}
	if got := s.err.String(); got != "" {
		t.Errorf("stderr says %q", got)
	}
}

func TestQuietRunOfOneTaskIsHarmlessOnATerminal(t *testing.T) {
	t.Parallel()
	s := newStage(t, 80, Options{Mode: ui.Quiet, Jobs: []*api.Job{job("j", 1, task("a"))}})
	s.writes(alloc("j", 0, "11111111"), "a", event.Stdout, "one\n\x1b[2Jtwo\n")
	s.shows()
	if got, want := s.screen.String(), "one\ntwo\n"; got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}

func TestLineOfAnyLengthIsPassedOn(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 300<<10)
	for _, c := range []struct {
		mode ui.Mode
		want string
	}{
		{ui.Plain, "a │ " + long + "\n"},
		{ui.JSON, `"line":"` + long + "\"}\n"},
	} {
		s, a := pair(t, 0, Options{Mode: c.mode})
		for i := 0; i < len(long); i += 100_000 {
			s.writes(a, "a", event.Stdout, long[i:min(i+100_000, len(long))])
			s.shows()
		}
		s.writes(a, "a", event.Stdout, "\n")
		s.shows()
		if !strings.HasSuffix(s.out.String(), c.want) {
			t.Errorf("%s: the line of %d bytes did not come through", c.mode, len(long))
		}
	}
}

func TestLineThatIsNotUTF8IsBase64InJSON(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 0, Options{Mode: ui.JSON})
	s.writes(a, "a", event.Stdout, "caf\xe9\n")
	s.shows()
	if got, want := s.out.String(), `"stream":"stdout","line_base64":"Y2Fm6Q=="}`+"\n"; !strings.HasSuffix(got, want) {
		t.Errorf("written %q, want it to end with %q", got, want)
	}
}

func TestLostOutputIsReported(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 80, Options{})
	s.say(a, "a", event.Gap{Stream: event.Stdout, Bytes: 4096})
	s.say(a, "a", event.Output{Source: brokenSource{}, Length: 10})
	s.shows()
	want := "a ▲ 4096 bytes of stdout were left out here: the reader was too slow\n" +
		"a ▸ cannot read output: disk on fire\n" +
		"a ▲ 10 bytes of stdout were left out here: the reader was too slow\n"
	if got := s.screen.String(); got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}

// Characters other than ASCII, and those with a meaning in JSON or for a
// terminal, are escaped in objects.
func TestTextInJSON(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 0, Options{Mode: ui.JSON})
	text := "a\tb\rc\\d\"e\x00\x1f ~\x7fgrün\u009b\u202e\U000e0041日"
	s.writes(a, "a", event.Stdout, text+"\n")
	s.shows()
	want := `"line":"a\tb\rc\\d\"e\u0000\u001f ~\u007fgrün\u009b\u202e\udb40\udc41日"}` + "\n"
	if got := s.out.String(); !strings.HasSuffix(got, want) {
		t.Errorf("written %s, want %s", got, want)
	}
	var object struct{ Line string }
	if err := json.Unmarshal(s.out.Bytes(), &object); err != nil || object.Line != text {
		t.Errorf("read %q, %v", object.Line, err)
	}
}

// If stdout is a pipe, forced colors of a task end with its line.
func TestColorsInAPipeEndWithTheLine(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 0, Options{Color: ui.ColorAlways})
	s.writes(a, "a", event.Stdout, "\x1b[31mred\nplain\n")
	s.shows()
	lines := strings.Split(s.out.String(), "\n")
	if !strings.HasSuffix(lines[0], "\x1b[31mred"+resetColors) || !strings.HasSuffix(lines[1], " plain") {
		t.Errorf("written %q", lines)
	}
}

// A failed write to stderr is ignored, and the output continues.
func TestClosedStderrStopsNothing(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 0, Options{})
	s.d.screen.bufErr.Reset(failingWriter{syscall.EPIPE})
	for range 2 {
		s.happens(a, "a", event.Received())
		s.writes(a, "a", event.Stdout, "text\n")
		s.shows()
	}
	if got := s.out.String(); got != "a │ text\na │ text\n" {
		t.Errorf("written %q", got)
	}
	select {
	case err := <-s.d.Broken():
		t.Errorf("stdout is called broken: %v", err)
	default:
	}
}

// failingWriter fails like a closed pipe.
type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestClosedStdoutIsReportedOnce(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 0, Options{})
	s.d.screen.bufOut.Reset(failingWriter{syscall.EPIPE})
	for range 3 {
		s.writes(a, "a", event.Stdout, "text\n")
		s.shows()
	}
	s.happens(a, "a", event.Received())
	s.shows()
	select {
	case err := <-s.d.Broken():
		if !errors.Is(err, syscall.EPIPE) {
			t.Errorf("broken by %v", err)
		}
	default:
		t.Error("Broken did not report that stdout is closed")
	}
	select {
	case err := <-s.d.Broken():
		t.Errorf("told again: %v", err)
	default:
	}
	if !strings.Contains(s.err.String(), "Received") {
		t.Errorf("stderr says %q, without the event", s.err.String())
	}
}

// blockedWriter blocks until it is released.
type blockedWriter struct {
	begun, free chan struct{}
	once        sync.Once
}

func (w *blockedWriter) Write(p []byte) (int, error) {
	w.once.Do(func() { close(w.begun) })
	<-w.free
	return len(p), nil
}

func TestSayWritesWhileStdoutIsBlocked(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 0, Options{})
	w := &blockedWriter{begun: make(chan struct{}), free: make(chan struct{})}
	s.d.screen.bufOut.Reset(w)
	s.writes(a, "a", event.Stdout, "text\n")
	s.bus.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.d.Run(t.Context(), s.sub)
	}()
	<-w.begun
	s.d.Say("stopping; press Ctrl-C again to kill")
	said := s.err.String()
	close(w.free)
	<-done
	if !strings.Contains(said, "stopping; press Ctrl-C again to kill") {
		t.Errorf("stderr says %q", said)
	}
}

// flood is an endless source of lines.
type flood struct{ lines []byte }

func (f *flood) ReadAt(p []byte, off int64) (int, error) {
	return copy(p, f.lines[off%int64(len(f.lines)/2):]), nil
}
func (*flood) Retain()  {}
func (*flood) Release() {}

func BenchmarkOutput(b *testing.B) {
	line := []byte("2026-03-14T12:00:00Z level=info msg=\"request served\" path=/api/v1/things status=200 took=12ms\n")
	src := &flood{bytes.Repeat(line, 2*pieceSize/len(line)+2)}
	src.lines = src.lines[:len(src.lines)/len(line)/2*2*len(line)]
	const size = 4 << 20
	for _, mode := range []ui.Mode{ui.Plain, ui.JSON, ui.Quiet} {
		b.Run(string(mode), func(b *testing.B) {
			streams, _, _ := ui.Test()
			streams.Out = io.Discard
			d := New(streams, Options{Mode: mode, Jobs: []*api.Job{job("j", 1, task("a"), task("b"))}, Begin: begin})
			e := event.Event{Time: time.Now(), Alloc: alloc("j", 0, "11111111"), Task: "a"}
			e.Body = event.Output{Source: src, Length: size}
			b.SetBytes(size)
			for b.Loop() {
				d.show(e)
			}
		})
	}
}
