// Package fullscreen shows a screen.Model on the terminal of this process, and reads
// keys and the mouse. It is the only package that knows the library for that.
//
// The library is tcell: it draws only what has changed, writes a picture at once, and
// waits for nothing but the terminal, so that a screen on which nothing happens costs
// nothing.
package fullscreen

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v2"
	"golang.org/x/sys/unix"

	"taskrun/cmd/ui"
	"taskrun/cmd/ui/screen"
)

// Input is a key, an event of the mouse, a new size, or the end of all input.
type Input struct {
	Key    screen.Key // empty: none
	Pasted bool       // the key is a character that was pasted
	Mouse  *screen.Mouse
	Resize bool
	Err    error // the terminal can no longer be read
}

// Terminal is the terminal while it shows full screens. Its methods, except Recover and
// Close, must be called by one goroutine.
type Terminal struct {
	screen tcell.Screen
	color  bool
	mouse  bool
	inputs chan Input
	stops  chan os.Signal
	close  func()
}

// Open takes over the terminal, with or without colors. The caller must call Close in
// any case.
func Open(streams *ui.Streams, color bool) (*Terminal, error) {
	s, err := open(streams)
	if err != nil {
		return nil, fmt.Errorf("cannot take over the terminal (TERM is %q): %w", streams.Env("TERM"), err)
	}
	t := &Terminal{screen: s, color: color, mouse: true, inputs: make(chan Input), stops: make(chan os.Signal, 1)}
	t.screen.EnableMouse(tcell.MouseButtonEvents)
	t.screen.EnablePaste()
	done := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		defer t.Recover()
		t.read(done)
	})
	signal.Notify(t.stops, syscall.SIGTSTP, syscall.SIGQUIT)
	t.close = sync.OnceFunc(func() {
		signal.Stop(t.stops)
		close(done)
		t.screen.Fini()
	})
	return t, nil
}

// open returns the screen of the terminal. A locale that is not set has all characters,
// see Streams.UTF8.
func open(streams *ui.Streams) (tcell.Screen, error) {
	const name = "LC_ALL"
	if before, set := os.LookupEnv(name); streams.UTF8() {
		if err := os.Setenv(name, "C.UTF-8"); err != nil {
			return nil, err
		}
		defer func() {
			if _ = os.Unsetenv(name); set { // neither fails for a valid name
				_ = os.Setenv(name, before)
			}
		}()
	}
	s, err := tcell.NewTerminfoScreen()
	if err != nil {
		return nil, err
	}
	return s, s.Init()
}

// Close gives the terminal back as it was. It is safe for concurrent use.
func (t *Terminal) Close() { t.close() }

// Recover gives the terminal back if the goroutine panics, and panics again. It must be
// deferred directly.
func (t *Terminal) Recover() {
	if v := recover(); v != nil {
		t.close()
		panic(v)
	}
}

// Inputs receives what the user does.
func (t *Terminal) Inputs() <-chan Input { return t.inputs }

// Signals receives the signals that Obey obeys: SIGTSTP and SIGQUIT.
func (t *Terminal) Signals() <-chan os.Signal { return t.stops }

// Size returns the columns and lines of the terminal.
func (t *Terminal) Size() (width, height int) { return t.screen.Size() }

// read sends what the user does until done is closed.
func (t *Terminal) read(done <-chan struct{}) {
	pasting := false
	for e := t.screen.PollEvent(); e != nil; e = t.screen.PollEvent() {
		var in Input
		switch e := e.(type) {
		case *tcell.EventPaste:
			pasting = e.Start()
			continue
		case *tcell.EventKey:
			in = Input{Key: keyOf(e), Pasted: pasting}
		case *tcell.EventMouse:
			if in.Mouse = mouseOf(e); in.Mouse == nil {
				continue
			}
		case *tcell.EventResize:
			in.Resize = true
		case *tcell.EventError:
			in.Err = fmt.Errorf("cannot read the terminal: %w", e)
		default:
			continue
		}
		select {
		case t.inputs <- in:
		case <-done:
			return
		}
	}
}

// Draw shows lines. Only what differs from the latest ones is written.
func (t *Terminal) Draw(lines []screen.Line) {
	width, height := t.screen.Size()
	for y := range height {
		x := 0
		if y < len(lines) {
			for _, s := range lines[y] {
				style := styleOf(s.Style, t.color)
				for text := s.Text; text != "" && x < width; {
					rest, n := t.screen.Put(x, y, text, style)
					if len(rest) == len(text) {
						break
					}
					text, x = rest, x+n
				}
			}
		}
		for ; x < width; x++ {
			t.screen.Put(x, y, " ", tcell.StyleDefault)
		}
	}
	t.screen.Show()
}

// Redraw draws the whole screen again, which something else has changed.
func (t *Terminal) Redraw() { t.screen.Sync() }

// ToggleMouse leaves the mouse to the terminal, or takes it back, and reports whether
// taskrun has it.
func (t *Terminal) ToggleMouse() bool {
	if t.mouse = !t.mouse; t.mouse {
		t.screen.EnableMouse(tcell.MouseButtonEvents)
	} else {
		t.screen.DisableMouse()
	}
	return t.mouse
}

// Copy puts a text on the clipboard of the terminal, with OSC 52.
func (t *Terminal) Copy(text string) { t.screen.SetClipboard([]byte(text)) }

// Release gives the terminal back while f runs.
func (t *Terminal) Release(f func()) error {
	if err := t.screen.Suspend(); err != nil {
		return err
	}
	f()
	if err := t.screen.Resume(); err != nil {
		return fmt.Errorf("cannot take over the terminal again: %w", err)
	}
	t.screen.Sync()
	return nil
}

// continueTime is how long a stop of the process may take to take effect.
const continueTime = 100 * time.Millisecond

// Suspend stops the process group as Ctrl-Z does, until a shell continues it. Without a
// shell that could do that, as in a window of its own, it does nothing.
func (t *Terminal) Suspend() error {
	if session, err := unix.Getsid(0); err != nil || syscall.Getpgrp() == session || !ui.HasShell() {
		return nil
	}
	return t.stop(0) // not SIGTSTP, which package signal cannot reset
}

// stop stops processes, this one among them, and returns when this one was continued.
// The stop may come after the call that sends the signal.
func (t *Terminal) stop(pid int) error {
	return t.Release(func() {
		continued := make(chan os.Signal, 1)
		signal.Notify(continued, syscall.SIGCONT)
		defer signal.Stop(continued)
		if syscall.Kill(pid, syscall.SIGSTOP) != nil {
			return
		}
		select {
		case <-continued:
		case <-time.After(continueTime):
		}
	})
}

// Obey does what a signal that Signals has received calls for.
func (t *Terminal) Obey(sig os.Signal) error {
	if sig == syscall.SIGTSTP { // another program wants it
		return t.stop(os.Getpid())
	}
	t.Close()
	signal.Reset(syscall.SIGQUIT)
	_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT) // shows the stacks of all goroutines
	select {}                                      // until then
}
