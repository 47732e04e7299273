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

// Terminal is the user's terminal while a session has it: its keys go to the
// far side untouched, Ctrl-C and Ctrl-Z included. Its methods may be called
// from several goroutines at once.
type Terminal struct {
	in    *os.File
	files []*os.File // that may know the size
	sizes chan api.TerminalSize

	mu     sync.Mutex
	before *term.State // nil: it is as the user had it
}

// NewTerminal returns the terminal behind stdin, which is as it was, or nil
// when stdin is none.
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

// Sizes gets the size of the terminal at once, and the newest one whenever it
// changes.
func (t *Terminal) Sizes() <-chan api.TerminalSize { return t.sizes }

// Take gives the terminal to a session until release is called, which must
// happen whatever happens. A stop from outside (SIGTSTP) gives the terminal
// back until the process goes on.
func (t *Terminal) Take() (release func(), err error) {
	if err := t.raw(); err != nil {
		return nil, err
	}
	t.measure()
	signals, done := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGQUIT)
	var following sync.WaitGroup
	following.Go(func() {
		for {
			select {
			case sig := <-signals:
				t.obey(sig)
			case <-done:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		signal.Stop(signals)
		close(done)
		following.Wait()
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
		_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT) // which shows what every goroutine does
	case syscall.SIGCONT: // a shell has put its own mode back
		_ = t.raw() // if it fails, keys are still lines
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

// Restore puts the terminal into the mode that it had.
func (t *Terminal) Restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.before != nil {
		_ = term.Restore(int(t.in.Fd()), t.before) // a terminal that is gone needs no mode
		t.before = nil
	}
}

// Recover restores the terminal when the goroutine panics, and panics again. It
// works only if it is deferred itself, not called by a deferred function. There
// may be no terminal.
func (t *Terminal) Recover() {
	if v := recover(); v != nil {
		if t != nil {
			t.Restore()
		}
		panic(v)
	}
}

// measure tells of the size of the terminal.
func (t *Terminal) measure() {
	size, err := t.size()
	if err != nil {
		return // the far side keeps what it has
	}
	select { // only the newest counts
	case <-t.sizes:
	default:
	}
	select {
	case t.sizes <- size:
	default: // this one is not older
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
