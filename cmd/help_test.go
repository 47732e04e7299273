package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"taskrun/cmd/console"
	"taskrun/cmd/help"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
)

// TestTopicExamples runs the examples in each topic and compares the output,
// including exit codes if the example shows $?.
func TestTopicExamples(t *testing.T) {
	t.Parallel()
	taskrun, err := exec.LookPath("taskrun")
	if err != nil {
		t.Fatal(err)
	}
	made := examples(help.Topic{Markdown: "# x: y\n\nSee [ports](ports.md).\n\n```console\n$ a # [b](c)\n\n# d\n```\n"})
	if len(made) != 1 || made[0] != "$ a # [b](c)\n\n# d\n" {
		t.Errorf("examples: %q", made)
	}
	for _, topic := range help.Topics() {
		t.Run(topic.Name, func(t *testing.T) {
			t.Parallel()
			blocks := examples(topic)
			if len(blocks) == 0 {
				t.Error("no example that can be run")
			}
			for _, block := range blocks {
				want, script := example(block)
				got := playExample(t, taskrun, script)
				if !want.MatchString(varied(got)) {
					t.Errorf("the example is\n%s\nand prints\n%s", block, got)
				}
			}
		})
	}
}

// examples returns the blocks of a topic that a user can run unchanged: commands
// after "$ ", and their output.
func examples(t help.Topic) (blocks []string) {
	var block *strings.Builder
	for line := range strings.Lines(t.Markdown) {
		switch {
		case strings.TrimSpace(line) == "```console":
			block = new(strings.Builder)
		case strings.HasPrefix(line, "```") && block != nil:
			blocks, block = append(blocks, block.String()), nil
		case block != nil:
			block.WriteString(line)
		}
	}
	return blocks
}

// example returns the expected transcript of a block, and a shell script that
// produces it. "> " continues a command. "…" matches any text and, alone on a
// line, any lines.
func example(block string) (transcript *regexp.Regexp, script string) {
	var want, sh strings.Builder
	want.WriteString("^")
	sh.WriteString("code=0\n")
	lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
	for i, line := range lines {
		command, first := strings.CutPrefix(line, "$ ")
		rest, more := strings.CutPrefix(line, "> ")
		if first {
			shown := lines[i : i+1+continued(lines[i+1:])]
			sh.WriteString("cat <<'SHOWN'\n" + strings.Join(shown, "\n") + "\nSHOWN\n(exit $code)\n" + command + "\n")
		}
		if more {
			sh.WriteString(rest + "\n")
		}
		if (first || more) && continued(lines[i+1:]) == 0 {
			sh.WriteString("code=$?\n")
		}
		if line == "…" {
			want.WriteString(`(?:.*\n)*?`)
			continue
		}
		want.WriteString(strings.ReplaceAll(regexp.QuoteMeta(varied(line+"\n")), "…", ".*?"))
	}
	return regexp.MustCompile(want.String() + "$"), sh.String()
}

// continued returns how many of the next lines continue a command.
func continued(lines []string) int {
	for i, line := range lines {
		if !strings.HasPrefix(line, "> ") {
			return i
		}
	}
	return len(lines)
}

// varying matches text that differs from run to run, with its replacement.
var varying = []struct {
	pattern *regexp.Regexp
	as      string
}{
	{regexp.MustCompile(`\d\d:\d\d:\d\d\.\d{3}`), "TIME"},
	{regexp.MustCompile(`<?\b(\d+m)?\d+(\.\d+)?(µs|ms|s)\b`), "DURATION"},
	{regexp.MustCompile(`\b[0-9a-f]{8}\b`), "ID"},
	{regexp.MustCompile(` +`), " "}, // columns
}

func varied(s string) string {
	for _, v := range varying {
		s = v.pattern.ReplaceAllString(s, v.as)
	}
	return s
}

// playExample runs a script in a directory with the job files of testdata and
// its own home.
func playExample(t *testing.T, taskrun, script string) string {
	t.Helper()
	work := t.TempDir()
	for _, dir := range []string{"home", "testdata"} {
		if err := os.Mkdir(filepath.Join(work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(work, "testdata/jobs"), os.DirFS("../testdata/jobs")); err != nil {
		t.Fatal(err)
	}
	sockets, err := os.MkdirTemp("", "tr") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	env := []string{
		"GOCOVERDIR=" + cmp.Or(os.Getenv("GOCOVERDIR"), sockets), // a binary with coverage writes to it, also while the test ends
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(work, "home"), "XDG_RUNTIME_DIR=" + sockets,
		"TASKRUN_DATA_DIR=" + filepath.Join(work, "data"), "DOCKER_HOST=unix:///nowhere/docker.sock", "TMPDIR=" + os.TempDir(),
	}
	t.Cleanup(func() { endRuns(taskrun, sockets, env) })

	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = work, env, &out, &out
	cmd.WaitDelay = patience
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String()
}

// TestHelpTopics checks that topics are listed, found and suggested, and that a
// topic wins over the command with its name.
func TestHelpTopics(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"help":           "\nTopics:\n  jobs ",
		"help stubs":     "# stubs",
		"help exec":      "# exec",
		"help up":        "taskrun up [FILE...]",
		"help stub":      `did you mean "stubs"?`,
		"help exit-code": `did you mean "exit-codes"?`,
		"help xyzzy":     "topics: jobs, exec,",
		"help up x":      `no topic or command "up x"`,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			streams, out, errs := ui.Test()
			a := newApp(&console.Console{Streams: streams, Color: ui.ColorAuto}, nil)
			a.run(t.Context(), strings.Fields(args))
			want := strings.TrimPrefix(want, "# ")
			if all := out.String() + errs.String(); !strings.Contains(all, want) {
				t.Errorf("no %q in\n%s", want, all)
			}
		})
	}
}

// TestPager checks that $PAGER shows a topic on a terminal, unless there is no
// such program.
func TestPager(t *testing.T) {
	t.Parallel()
	for pager, want := range map[string]string{
		"sed s/^/paged:/":     "paged:ports: ",
		"cat":                 "ports: ",
		"no-such-pager-there": "ports: ",
	} {
		streams, out, _ := ui.Test()
		streams.OutTerm = true
		streams.Env = func(name string) string { return map[string]string{"PAGER": pager, "NO_COLOR": "1"}[name] }
		a := newApp(&console.Console{Streams: streams, Color: ui.ColorAuto, Environ: os.Environ(), Signals: func() (<-chan os.Signal, func()) { return nil, func() {} }}, nil)
		if code := a.run(t.Context(), []string{"help", "ports"}); code != verdict.OK || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s: exit code %d and\n%s", pager, code, out)
		}
	}
}
