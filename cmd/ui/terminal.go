package ui

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/hashicorp/nomad/api"
	"golang.org/x/term"
)

// Terminal is the user's terminal during a session: keys go to the remote side
// unchanged, including Ctrl-C and Ctrl-Z. Its methods are safe for concurrent
// use.
type Terminal struct {
	in    *os.File
	files []*os.File // files that may know the size
	sizes chan api.TerminalSize

	mu     sync.Mutex
	before *term.State // nil: the mode is not changed
}

// NewTerminal returns the terminal behind stdin, with its mode unchanged, or
// nil if stdin is not a terminal.
func (s *Streams) NewTerminal() *Terminal {
	in, ok := s.In.(*os.File)
	if !ok || !s.InTerm {
		return nil
	}
	t := &Terminal{in: in, sizes: make(chan api.TerminalSize, 1)}
	if out, ok := s.Out.(*os.File); ok && s.OutTerm {
		t.files = append(t.files, out)
	}
	t.files = append(t.files, in)
	return t
}

// Sizes receives the size of the terminal now, and the newest one after
// changes.
func (t *Terminal) Sizes() <-chan api.TerminalSize { return t.sizes }

// Take puts the terminal into raw mode until release is called. The caller must
// call release in any case. A stop by another program (SIGTSTP) restores the
// mode until the process continues.
func (t *Terminal) Take() (release func(), err error) {
	if err := t.raw(); err != nil {
		return nil, err
	}
	t.measure()
	stop := onSignals(t.obey, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGQUIT)
	return sync.OnceFunc(func() {
		stop()
		t.Restore()
	}), nil
}

func (t *Terminal) obey(sig os.Signal) {
	switch sig {
	case syscall.SIGTSTP:
		t.Restore()
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // until SIGCONT
	case syscall.SIGQUIT:
		t.Restore()
		signal.Reset(sig)
		_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT) // shows the stacks of all goroutines
	case syscall.SIGCONT: // a shell has restored its own mode
		_ = t.raw() // if it fails, input is still by line
		t.measure()
	default:
		t.measure()
	}
}

func (t *Terminal) raw() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return fmt.Errorf("cannot take over the terminal: %w", err)
	}
	if t.before == nil {
		t.before = before
	}
	return nil
}

// Restore restores the original mode of the terminal.
func (t *Terminal) Restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.before != nil {
		_ = term.Restore(int(t.in.Fd()), t.before) // a terminal that is gone needs no mode
		t.before = nil
	}
}

// Recover restores the terminal if the goroutine panics, and panics again. It
// must be deferred directly. t may be nil.
func (t *Terminal) Recover() {
	if v := recover(); v != nil {
		if t != nil {
			t.Restore()
		}
		panic(v)
	}
}

func (t *Terminal) measure() {
	size, err := t.size()
	if err != nil {
		return // the remote side keeps the old size
	}
	select { // only the newest size counts
	case <-t.sizes:
	default:
	}
	select {
	case t.sizes <- size:
	default: // the queued one is at least as new
	}
}

func (t *Terminal) size() (api.TerminalSize, error) {
	var failures []error
	for _, f := range t.files {
		width, height, err := term.GetSize(int(f.Fd()))
		if err == nil {
			return api.TerminalSize{Width: width, Height: height}, nil
		}
		failures = append(failures, err)
	}
	return api.TerminalSize{}, errors.Join(failures...)
}
