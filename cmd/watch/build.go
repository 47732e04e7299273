package watch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"taskrun/drivers/process"
)

// maxOutput is how many bytes of the output of a build are kept: the last ones.
const maxOutput = 64 << 10

// endTime is how long an interrupted build may take to remove its temporary files.
const endTime = 300 * time.Millisecond

// Builds runs the builds of a run. Their processes are those of the run: none of
// them outlives it.
type Builds struct {
	run *process.Run
	env []string
}

// NewBuilds returns Builds with an environment. The caller must close it.
func NewBuilds(env []string) *Builds { return &Builds{run: process.NewRun(), env: env} }

// Close kills what is left of the builds.
func (b *Builds) Close(ctx context.Context) error {
	_, err := b.run.Shutdown(ctx)
	return err
}

// Build runs a command in a directory, and returns its output. The end of ctx
// interrupts it, with all processes that it has started; the error is that of ctx
// then.
func (b *Builds) Build(ctx context.Context, dir string, command []string) (output string, err error) {
	path, err := b.find(dir, command[0])
	if err != nil {
		return "", err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer read.Close()
	p, err := b.run.Start(process.Spec{
		Path: path, Name: command[0], Args: command[1:], Env: b.env, Dir: dir, Stdout: write, Stderr: write,
	})
	_ = write.Close()
	if err != nil {
		return "", err
	}
	var last tail
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&last, read) })
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Signal(syscall.SIGINT) // it is killed anyway
		select {
		case <-p.Done():
		case <-time.After(endTime):
		}
		_ = p.Kill()
	}
	<-p.Gone()
	_ = read.SetReadDeadline(time.Now().Add(endTime)) // the other end should be closed by now
	reading.Wait()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	switch status, _ := p.Status(); {
	case status.Err != nil:
		return last.String(), status.Err
	case status.Signal != 0:
		return last.String(), fmt.Errorf("signal: %v", syscall.Signal(status.Signal))
	case status.ExitCode != 0:
		return last.String(), fmt.Errorf("exit code %d", status.ExitCode)
	}
	return last.String(), nil
}

// find returns the path of a command: one with a slash is relative to the directory.
func (b *Builds) find(dir, name string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	for _, v := range b.env {
		list, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, in := range filepath.SplitList(list) {
			path := filepath.Join(in, name)
			if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("there is no command %q in PATH", name)
}

// tail keeps the last bytes written to it.
type tail struct {
	text bytes.Buffer
	cut  bool // the first part was dropped
}

func (t *tail) Write(p []byte) (int, error) {
	t.text.Write(p)
	if over := t.text.Len() - maxOutput; over > 0 {
		t.text.Next(over)
		t.cut = true
	}
	return len(p), nil
}

// String returns the output without a last newline. If the first part was dropped,
// it says so.
func (t *tail) String() string {
	out := strings.TrimRight(strings.ToValidUTF8(t.text.String(), "\uFFFD"), "\n")
	if t.cut {
		_, out, _ = strings.Cut(out, "\n")
		out = fmt.Sprintf("… (the last %d KiB)\n%s", maxOutput>>10, out)
	}
	return out
}
