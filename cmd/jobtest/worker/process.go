package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"taskrun/jobspec"
)

// process is a worker as its parent sees it. A nil one is no worker.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	enc    *json.Encoder
	answer chan answer // closed when the worker has closed stdout
	said   tail        // on stderr
	exited chan struct{}
}

type answer struct {
	Result
	err error
}

// start starts a worker in a process group of its own: Ctrl-C is for its parent,
// which tells the workers.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, answer: make(chan answer), exited: make(chan struct{})}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.Stderr = &p.said
	cmd.WaitDelay = time.Second // its children may hold stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start a worker for job tests: %w", err)
	}
	p.in, p.enc = in, json.NewEncoder(in)
	go p.read(out)
	return p, nil
}

// read passes answers on until there are no more, and waits for the process.
func (p *process) read(out io.Reader) {
	defer close(p.exited)
	for dec := json.NewDecoder(out); ; {
		var a answer
		if a.err = dec.Decode(&a.Result); a.err != nil {
			break
		}
		p.answer <- a
	}
	close(p.answer)
	_ = p.cmd.Wait() // its state says more
}

// play has an order played. When ctx ends it is not: the worker is gone then.
func (p *process) play(ctx context.Context, o Order, grace time.Duration) (Result, error) {
	if err := p.enc.Encode(o); err != nil {
		p.end(grace)
		return Result{}, err
	}
	select {
	case a, ok := <-p.answer:
		if !ok {
			p.end(grace)
			return Result{}, io.ErrUnexpectedEOF
		}
		return a.Result, nil
	case <-ctx.Done():
		p.end(grace)
		return Result{}, context.Cause(ctx)
	}
}

// end has the worker end, kills it if it does not in time, and waits until it is
// gone.
func (p *process) end(grace time.Duration) {
	if p == nil {
		return
	}
	_ = p.in.Close()
	timer := time.AfterFunc(grace, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	for range p.answer { // it comes too late
	}
	<-p.exited
}

// died is the result of a run whose worker is gone.
func (p *process) died(o Order, took time.Duration) Result {
	text := p.said.String()
	summary, where := crash(text)
	if summary == "" {
		summary = p.cmd.ProcessState.String()
	}
	d := jobspec.Diagnostic{Summary: fmt.Sprintf("the process that played %q died: %s", o.Run, summary), Detail: where}
	return Result{Took: took, Failures: []Failure{{Diagnostic: d, Stack: text}}}
}

// crash returns what the runtime says of a crash: why, and in which goroutine.
func crash(text string) (why, where string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case why == "" && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")):
			why = line
		case why != "" && strings.HasPrefix(line, "goroutine "):
			where = "in " + strings.TrimSuffix(line, ":")
		case where != "" && strings.Contains(line, "(") && !strings.HasPrefix(line, "panic("):
			return why, where + ": " + line[:strings.LastIndexByte(line, '(')]
		}
	}
	return why, where
}

// tail keeps the first and the last bytes that are written to it: a crash begins
// with its reason.
type tail struct {
	mu    sync.Mutex
	first []byte
	last  []byte
}

const kept = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	room := min(kept-len(t.first), len(p))
	t.first = append(t.first, p[:room]...)
	if t.last = append(t.last, p[room:]...); len(t.last) > 2*kept {
		t.last = append(t.last[:0], t.last[len(t.last)-kept:]...)
	}
	return n, nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) > kept {
		return string(t.first) + "\n…\n" + string(t.last[len(t.last)-kept:])
	}
	return string(t.first) + string(t.last)
}
