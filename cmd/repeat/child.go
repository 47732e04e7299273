// Package repeat runs a job several times, each time in a process of its own, and
// counts how the runs ended.
package repeat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"taskrun/cmd/report/compare"
	"taskrun/engine/leaf/event"
)

// Limits of the record of a run.
const (
	maxTail  = 256 << 10 // the last output of its tasks, in bytes with the names of the tasks
	maxError = 8 << 10   // its stderr
	maxLine  = 16 << 20  // a longer object is skipped
)

// Line is a line of a task's output.
type Line struct{ Target, Text string }

func (l Line) size() int { return len(l.Target) + len(l.Text) }

// Run is a run that has ended.
type Run struct {
	Number   int
	Status   string // complete, failed or stopped; empty: it did not begin
	ExitCode int
	Reason   string // why it failed, in one line; may be empty
	Took     time.Duration
	Stopped  bool // by a signal that was sent to it
	Tail     []Line
	Omitted  int    // lines of output before Tail
	Said     string // the end of its stderr
	Compared *compare.Run
}

// Failed reports whether the run counts as failed.
func (r *Run) Failed() bool { return r.ExitCode != 0 && !r.Stopped }

// Player starts the processes of runs.
type Player struct {
	Path  string // of this program
	Args  []string
	Env   []string
	Stdin []byte // for each of them
	// Object is called with each object that a run writes, and Output with each line
	// of a task; both may be nil.
	Object func(object []byte)
	Output func(l Line)
}

// Play runs the job once. Signals are passed on; one that closes is passed on as
// SIGTERM. An error says that no process could be started.
func (p *Player) Play(number int, signals <-chan os.Signal, closed <-chan struct{}) (*Run, error) {
	cmd := &exec.Cmd{Path: p.Path, Args: append([]string{"taskrun"}, p.Args...)}
	cmd.Env, cmd.Stdin = p.Env, bytes.NewReader(p.Stdin)
	// Ctrl-C is for this process, which passes it on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said := &tail{}
	cmd.Stderr, cmd.WaitDelay = said, time.Second // whatever the run has left may hold stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start run %d: %w", number, err)
	}
	r := &reading{Player: p, run: &Run{Number: number}, builder: compare.NewBuilder()}
	read := make(chan struct{})
	go func() {
		defer close(read)
		r.read(out)
	}()
	for ended := false; !ended; {
		var sig os.Signal
		select {
		case sig = <-signals:
		case <-closed:
			sig, closed = syscall.SIGTERM, nil
		case <-read:
			ended = true
			continue
		}
		r.run.Stopped = true        // read by this goroutine only
		_ = cmd.Process.Signal(sig) // it may have ended
	}
	_ = cmd.Wait() // its state says more
	run := r.run
	run.ExitCode, run.Took, run.Said = exitCode(cmd.ProcessState), time.Since(began), strings.TrimSpace(string(said.kept))
	run.Compared = r.builder.Run()
	run.Compared.Took = run.Took
	run.Compared.Values[compare.Key{Kind: compare.Outcome, Name: "status"}] = run.Status
	run.Compared.Values[compare.Key{Kind: compare.Outcome, Name: "exit_code"}] = fmt.Sprint(run.ExitCode)
	return run, nil
}

// exitCode returns the exit code of a process, in the form of a shell if a signal
// killed it.
func exitCode(s *os.ProcessState) int {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.ExitCode()
}

// tail keeps the last bytes that are written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-maxError):]
	return len(p), nil
}

// reading reads the objects of a run.
type reading struct {
	*Player
	run     *Run
	builder *compare.Builder
	size    int // of run.Tail
}

// read reads objects, one a line, until there are no more.
func (r *reading) read(from io.Reader) {
	lines := bufio.NewReaderSize(from, 64<<10)
	var long []byte
	for {
		part, err := lines.ReadSlice('\n')
		if len(long)+len(part) <= maxLine {
			long = append(long, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if object := bytes.TrimSpace(long); len(object) > 0 {
			r.object(object)
		}
		if err != nil {
			return
		}
		long = long[:0]
	}
}

// object reads an object of --output json. Others are skipped.
func (r *reading) object(text []byte) {
	var o struct {
		Type      string `json:"type"`
		Alloc     string `json:"alloc"`
		Task      string `json:"task"`
		Line      string `json:"line"`
		LineBytes []byte `json:"line_base64"`
		Status    string `json:"status"`
		ExitCode  int    `json:"exit_code"`
		Reason    string `json:"reason"`
	}
	if json.Unmarshal(text, &o) != nil || o.Type == "" {
		return
	}
	if r.Object != nil {
		r.Object(text)
	}
	switch o.Type {
	case "log":
		if o.LineBytes != nil {
			o.Line = string(o.LineBytes)
		}
		_, target, _ := strings.Cut(o.Alloc, ".")
		r.line(Line{target + "/" + o.Task, o.Line})
	case "summary": // one for each job; the first failure counts
		if r.run.Status == "" || r.run.Status != "failed" && o.Status == "failed" {
			r.run.Status, r.run.Reason = o.Status, o.Reason
		}
	default:
		if e, err := event.Parse(text); err == nil {
			r.builder.Add(e)
		}
	}
}

func (r *reading) line(l Line) {
	if r.Output != nil {
		r.Output(l)
	}
	r.run.Tail = append(r.run.Tail, l)
	r.size += l.size()
	for r.size > maxTail {
		r.size -= r.run.Tail[0].size()
		r.run.Tail = r.run.Tail[1:]
		r.run.Omitted++
	}
}
