package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/report"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/jobspec"
)

func newConsole() (c *Console, out, stderr *bytes.Buffer) {
	streams, out, stderr := ui.Test()
	return &Console{Streams: streams}, out, stderr
}

// wrong is a diagnostic about a file.
func wrong(severity jobspec.Severity, file string) jobspec.Diagnostic {
	d := jobspec.Diagnostic{Severity: severity, Summary: "it is wrong", Detail: "a detail", Remedy: "mend it"}
	d.Range.File, d.Range.Start.Line, d.Range.Start.Column, d.Range.End.Line, d.Range.End.Column = file, 1, 1, 1, 4
	return d
}

func TestPrintError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{exit.Silent(3), ""},
		{fmt.Errorf("write: %w", syscall.EPIPE), ""},
		{io.EOF, "taskrun: EOF\n"},
		{exit.Usage("wrong"), "taskrun: wrong\n"},
		{fmt.Errorf("here: %w", exit.Usage("wrong\x1b").WithHint("mend it")), "taskrun: here: wrong\\x1b\nmend it\n"},
	} {
		c, out, stderr := newConsole()
		c.PrintError(tt.err)
		if got := stderr.String(); got != tt.want || out.Len() > 0 {
			t.Errorf("%v: %q, %q, want %q", tt.err, got, out, tt.want)
		}
	}
	c, out, stderr := newConsole()
	c.JSONErrors = true
	c.PrintError(exit.Usage("wrong").WithHint("mend it"))
	for _, part := range []string{`"type":"diagnostic"`, `"severity":"error"`, `"summary":"wrong"`, `"detail":"mend it"`} {
		if !strings.Contains(out.String(), part) || stderr.Len() > 0 {
			t.Errorf("%s is missing in %q, stderr %q", part, out, stderr)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	c, out, stderr := newConsole()
	c.Say("%d tasks", 2)
	c.Warn(io.EOF)
	c.Report("", "plain")
	if got := stderr.String(); got != "▸ 2 tasks\nwarning: EOF\nplain\n" || out.Len() > 0 {
		t.Errorf("%q, %q", got, out)
	}
	if to := c.Answer(ui.JSON); to.Streams != c.Streams || to.Mode != ui.JSON || time.Since(to.At) > time.Minute {
		t.Errorf("answers go to %+v", to)
	}
}

func TestNeedsTerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, out    bool
		term, want string
	}{
		{true, true, "xterm", ""},
		{true, true, "dumb", `cannot show a full screen on a terminal without cursor control: TERM is "dumb"`},
		{false, true, "xterm", "cannot show a full screen: stdin and stdout must be a terminal"},
		{true, false, "xterm", "cannot show a full screen: stdin and stdout must be a terminal"},
	} {
		c, _, _ := newConsole()
		c.Streams.InTerm, c.Streams.OutTerm = tt.in, tt.out
		c.Streams.Env = func(name string) string { return map[string]string{"TERM": tt.term}[name] }
		err := c.NeedsTerminal()
		known, ok := errors.AsType[*exit.Error](err)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%+v: %v", tt, err)
		case tt.want != "" && (!ok || known.Error() != tt.want || known.Code != verdict.Usage || known.Hint != "use instead: taskrun attach, ps, logs"):
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// Diagnostics show the source that they are about, but no secret one.
func TestShowDiagnostics(t *testing.T) {
	t.Parallel()
	files := []jobfile.File{{File: &jobspec.File{
		Sources: map[string][]byte{"web.hcl": []byte("job web\n"), "secret.hcl": []byte("job key\n")}, Secret: map[string]bool{"secret.hcl": true},
	}}}
	list := jobspec.Diagnostics{wrong(jobspec.Warning, "web.hcl"), wrong(jobspec.Error, "secret.hcl")}
	for _, tt := range []struct {
		format     Format
		out, other []string // in stdout and stderr
	}{
		{FormatPlain, nil, []string{"it is wrong", "job web", "web.hcl"}},
		{FormatJSON, []string{`"severity":"warning","summary":"it is wrong","detail":"a detail; mend it","file":"web.hcl","line":1,"column":1`, `"severity":"error"`}, nil},
		{FormatGitHub, []string{"::warning file=web.hcl,line=1,col=1,endLine=1,endColumn=4::it is wrong%0Aa detail%0Amend it\n", "::error "}, nil},
		{FormatQuiet, nil, nil},
	} {
		c, out, stderr := newConsole()
		if err := c.ShowDiagnostics(tt.format, files, list); err != nil {
			t.Error(err)
		}
		for text, parts := range map[string][]string{out.String(): tt.out, stderr.String(): tt.other} {
			for _, part := range parts {
				if !strings.Contains(text, part) {
					t.Errorf("%s: %q is missing in %q", tt.format, part, text)
				}
			}
			if (text == "") == (len(parts) > 0) || strings.Contains(text, "job key") {
				t.Errorf("%s: %q", tt.format, text)
			}
		}
		c.Streams.Out = broken{}
		if err := c.ShowDiagnostics(tt.format, files, list); (err != nil) != (tt.out != nil) {
			t.Errorf("%s, to a broken stdout: %v", tt.format, err)
		}
	}
	if text := AsText(list[0], files); !strings.Contains(text, "job web") || strings.HasSuffix(text, "\n") {
		t.Errorf("as text: %q", text)
	}
	if n := CountWarnings(list); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// On a terminal diagnostics are no wider than it.
func TestWidthOfDiagnostics(t *testing.T) {
	t.Parallel()
	d := jobspec.Diagnostic{Summary: strings.Repeat("word ", 40)}
	for _, term := range []bool{false, true} {
		c, _, stderr := newConsole()
		c.Streams.ErrTerm = term
		c.PrintDiagnostics(nil, jobspec.Diagnostics{d})
		if n := strings.Count(strings.TrimSpace(stderr.String()), "\n"); (n > 0) != term {
			t.Errorf("on a terminal %v: %q", term, stderr)
		}
	}
}

func TestColorsOfDiagnostics(t *testing.T) {
	t.Parallel()
	style := ui.NewStyle(true)
	sources := map[string][]byte{"web.hcl": []byte("job web\n")}
	for severity, parts := range map[jobspec.Severity][]string{
		jobspec.Error:   {style.Bad("error: it is wrong"), style.Bad("^"), style.Note("mend it"), style.Quiet("1 |")},
		jobspec.Warning: {style.Waiting("warning: it is wrong"), style.Strong("web.hcl:1:1")},
	} {
		got := TextIn(sources, wrong(severity, "web.hcl"), style, 0)
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%q is missing in %q", part, got)
			}
		}
	}
}

func TestAsDiagnostics(t *testing.T) {
	t.Parallel()
	d := wrong(jobspec.Error, "web.hcl")
	got := AsDiagnostics(jobspec.Diagnostics{d, {Remedy: "only this"}, {Detail: "only that"}})
	want := []ui.Diagnostic{{Severity: "error", Summary: "it is wrong", Detail: "a detail; mend it", File: "web.hcl", Line: 1, Column: 1}, {Detail: "only this"}, {Detail: "only that"}}
	for i := range want {
		if i > 0 {
			want[i].Severity = jobspec.Severity(0).String()
		}
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
}

func TestRelativeTo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ root, file, want string }{
		{"/r", "/r/sub/web.hcl", "sub/web.hcl"},
		{"/r", "/other/web.hcl", "/other/web.hcl"},
		{"", "/r/web.hcl", "/r/web.hcl"},
		{"/", "https://h/web.hcl", "https://h/web.hcl"},
	} {
		if got := RelativeTo(tt.root, tt.file); got != tt.want {
			t.Errorf("%q, %q: %q, want %q", tt.root, tt.file, got, tt.want)
		}
		c, _, _ := newConsole()
		c.Streams.Env = func(name string) string { return map[string]string{"GITHUB_WORKSPACE": tt.root}[name] }
		if got := c.InWorkspace(tt.file); got != tt.want {
			t.Errorf("in a workspace: %q, want %q", got, tt.want)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got := ShortPath(filepath.Join(here, "sub", "x")); got != "sub/x" {
		t.Errorf("a short path: %q", got)
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	for _, mode := range []ui.Mode{ui.Plain, ui.Quiet} {
		c, _, stderr := newConsole()
		if err := c.Refuse(nil, jobspec.Diagnostics{wrong(jobspec.Warning, "")}, mode); err != nil || stderr.Len() > 0 {
			t.Errorf("warnings: %v, %q", err, stderr)
		}
		if err := c.Refuse(nil, jobspec.Diagnostics{wrong(jobspec.Error, "")}, mode); exit.Code(err) != verdict.Usage || !strings.Contains(stderr.String(), "it is wrong") {
			t.Errorf("%s: %v, %q", mode, err, stderr)
		}
	}
	c, _, _ := newConsole()
	c.Streams.Out = broken{}
	if err := c.Refuse(nil, jobspec.Diagnostics{wrong(jobspec.Error, "")}, ui.JSON); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("to a broken stdout: %v", err)
	}
}

func TestPaintDiff(t *testing.T) {
	t.Parallel()
	s := ui.NewStyle(true)
	got := PaintDiff(s, "diff a b\n--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same")
	want := strings.Join([]string{s.Strong("diff a b"), s.Strong("--- a"), s.Strong("+++ b"), s.Note("@@ -1 +1 @@"), s.Bad("-old"), s.Good("+new"), " same", ""}, "\n")
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestShellWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"": "''", "web/g[0]": "web/g[0]", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'",
	} {
		if got := ShellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

func TestBrowser(t *testing.T) {
	t.Parallel()
	c, _, _ := newConsole()
	c.Environ = []string{"A=b"}
	c.Streams.Env = func(name string) string { return map[string]string{"BROWSER": "firefox --new-window"}[name] }
	cmd := c.Browser(t.Context(), "http://h/")
	if got := strings.Join(append(cmd.Args, cmd.Env...), " "); got != "firefox --new-window http://h/ A=b" {
		t.Errorf("it runs %q", got)
	}
}

// In a workflow of GitHub Actions the output of tasks is no command. Its runner reads
// no regular files.
func TestGuard(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, actions := range []string{"", "true"} {
		c, _, _ := newConsole()
		unguarded := c.Streams
		c.Streams.Env = func(name string) string { return map[string]string{"GITHUB_ACTIONS": actions}[name] }
		c.GuardInWorkflow(ui.JSON)
		out, _ := c.Streams.Out.(*report.Guard)
		stderr, _ := c.Streams.Err.(*report.Guard)
		switch {
		case actions == "":
			if c.Streams != unguarded || out != nil || stderr != nil {
				t.Error("guarded outside of a workflow")
			}
		case out == nil || !out.JSON || stderr == nil || stderr.JSON || c.Streams == unguarded || out.To != unguarded.Out:
			t.Errorf("guards %+v, %+v", out, stderr)
		}
	}
	if to := guard(file, false); to != io.Writer(file) {
		t.Errorf("a file is guarded: %v", to)
	}
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	if _, guarded := guard(device, false).(*report.Guard); !guarded {
		t.Error("a device is not guarded")
	}
}

// signals lets a test send signals to a console.
func signals(c *Console) (send chan<- os.Signal, stopped *bool) {
	ch := make(chan os.Signal)
	stopped = new(bool)
	c.Signals = func() (<-chan os.Signal, func()) { return ch, func() { *stopped = true } }
	return ch, stopped
}

func TestInterruptible(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := newConsole()
		send, stopped := signals(c)
		for _, begin := range []func(context.Context) (context.Context, func()){c.Interruptible, c.Stoppable} {
			ctx, stop := begin(t.Context())
			if ctx.Err() != nil {
				t.Error("it has ended already")
			}
			send <- syscall.SIGTERM
			<-ctx.Done()
			if sig := exit.BySignal(ctx); sig == nil || sig.Signal != syscall.SIGTERM || sig.Code != verdict.Terminate {
				t.Errorf("ended by %v", sig)
			}
			stop()
			if !*stopped {
				t.Error("signals are still caught")
			}
			ctx, stop = begin(t.Context())
			stop()
			if ctx.Err() == nil || exit.BySignal(ctx) != nil {
				t.Errorf("stopped: %v", context.Cause(ctx))
			}
			*stopped = false
		}
		ctx, stop := c.InterruptibleBy(t.Context(), func(sig os.Signal) bool { return sig == os.Interrupt })
		defer stop()
		send <- syscall.SIGHUP
		synctest.Wait()
		if ctx.Err() != nil {
			t.Error("a signal that does not count ended it")
		}
		send <- os.Interrupt
		synctest.Wait()
		if sig := exit.BySignal(ctx); sig == nil || sig.Code != verdict.Interrupt {
			t.Errorf("ended by %v", sig)
		}
	})
}

func TestTwoSignals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := newConsole()
		send, stopped := signals(c)
		first, second, stop := c.TwoSignals(t.Context())
		send <- syscall.SIGTERM
		synctest.Wait()
		if sig := exit.BySignal(first); sig == nil || sig.Code != verdict.Terminate || second.Err() != nil {
			t.Errorf("after the first signal: %v, %v", sig, second.Err())
		}
		send <- os.Interrupt
		synctest.Wait()
		if sig := exit.BySignal(second); sig == nil || sig.Code != verdict.Interrupt {
			t.Errorf("after the second signal: %v", sig)
		}
		stop()
		if !*stopped {
			t.Error("signals are still caught")
		}
		first, second, stop = c.TwoSignals(t.Context())
		stop()
		if first.Err() == nil || second.Err() == nil || exit.BySignal(first) != nil {
			t.Errorf("stopped: %v, %v", first.Err(), second.Err())
		}
	})
}

// A reader of stdout that takes no more delays the end of a command only so long.
func TestImpatient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if err := Impatient(t.Context(), func() error { return io.EOF }); !errors.Is(err, io.EOF) {
			t.Errorf("one that ends: %v", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(io.ErrClosedPipe)
		late := func(after time.Duration) func() error {
			return func() error {
				<-time.After(after)
				return io.EOF
			}
		}
		if err := Impatient(ctx, late(source.ReadTime-1)); !errors.Is(err, io.EOF) {
			t.Errorf("one that ends in time: %v", err)
		}
		began := time.Now()
		if err := Impatient(ctx, late(source.ReadTime+1)); !errors.Is(err, io.ErrClosedPipe) || time.Since(began) != source.ReadTime {
			t.Errorf("one that ends late: %v after %v", err, time.Since(began))
		}
		<-time.After(1) // until it has ended
	})
}
