package ui

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Foreground reports whether this process has the terminal behind stderr, instead of
// a shell in whose background it runs.
func (s *Streams) Foreground() bool {
	f, ok := s.Err.(*os.File)
	if !ok {
		return true
	}
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Alone reports whether stderr is a terminal with a cursor that can be moved, and
// no other program writes to it. A program that reads stdout from a pipe may do
// that.
func (s *Streams) Alone() bool {
	if !s.ErrTerm || !s.Cursor() {
		return false
	}
	if out, ok := s.Out.(*os.File); ok && !s.OutTerm {
		info, err := out.Stat()
		return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0
	}
	return s.OutTerm
}

// OneTerminal reports whether stdout and stderr are the same terminal.
func (s *Streams) OneTerminal() bool {
	if !s.OutTerm || !s.ErrTerm {
		return false
	}
	out, isFile := s.Out.(*os.File)
	err, areFiles := s.Err.(*os.File)
	if !isFile || !areFiles {
		return s.Out == s.Err
	}
	a, failure := out.Stat()
	if failure != nil {
		return false
	}
	b, failure := err.Stat()
	return failure == nil && os.SameFile(a, b)
}

// OnSuspend calls before when the user suspends this process with Ctrl-Z, and after
// when it continues, until stop is called. Without a shell that could continue the
// process, Ctrl-Z does nothing.
func (s *Streams) OnSuspend(before, after func()) (stop func()) {
	if _, ok := s.Err.(*os.File); !ok || signal.Ignored(syscall.SIGTSTP) || !HasShell() {
		return func() {}
	}
	return onSignals(func(sig os.Signal) {
		if sig == syscall.SIGCONT {
			after()
			return
		}
		before()
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // the runtime cannot restore the default action
	}, syscall.SIGTSTP, syscall.SIGCONT)
}

// onSignals calls f with each of some signals until stop is called, which waits for f.
func onSignals(f func(os.Signal), signals ...os.Signal) (stop func()) {
	received, done := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(received, signals...)
	var following sync.WaitGroup
	following.Go(func() {
		for {
			select {
			case sig := <-received:
				f(sig)
			case <-done:
				return
			}
		}
	})
	return func() {
		signal.Stop(received)
		close(done)
		following.Wait()
	}
}

// HasShell reports whether the parent is in the session of this process, so that it
// can continue it.
func HasShell() bool {
	ours, err := unix.Getsid(0)
	if err != nil {
		return false
	}
	theirs, err := unix.Getsid(os.Getppid())
	return err == nil && ours == theirs
}
