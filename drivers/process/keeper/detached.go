package keeper

import (
	"errors"
	"fmt"
	"os"

	"taskrun/drivers/process"
)

// The rest of this file is for the program of a detached run; see Detach.

// Detached reports whether this program runs under a keeper that restarts it
// when it dies.
func (w *Watch) Detached() bool { return w.link != nil }

// Resumed reports whether an earlier instance of this program has died, so that
// this one must continue its run. It returns an error if the keeper does not
// answer. Once it has returned, children and held files are known.
func (w *Watch) Resumed() (bool, error) {
	if w.link == nil {
		return false, nil
	}
	if err := w.greet(); err != nil {
		return false, err
	}
	return w.link.welcome.Instance > 1, nil
}

// Stands reports to the program that detached this one that the run has
// started, with words about it, or why it has not. From then on the keeper
// restarts this program when it dies.
func (w *Watch) Stands(words string, failure error) error {
	l := w.link
	if l == nil {
		return nil
	}
	var err error
	if failure == nil {
		err = l.line.send(message{Stood: true})
	}
	if l.report != nil {
		text := stands + words
		if failure != nil {
			text = failure.Error()
		}
		_, writing := l.report.WriteString(text)
		err = errors.Join(err, writing, l.report.Close())
		l.report = nil
	}
	if err != nil {
		return fmt.Errorf("cannot report that the run has started: %w", err)
	}
	return nil
}

// Hold makes the keeper hold a file open, such as a lock, for later instances
// of this program, which get it from Held. A nil file releases it.
func (w *Watch) Hold(name string, f *os.File) error {
	if err := w.send(message{Hold: name, file: f}); err != nil {
		return fmt.Errorf("cannot have file %q held: %w", name, err)
	}
	return nil
}

// Held returns the file that the keeper holds under a name, or nil.
func (w *Watch) Held(name string) *os.File {
	if w.link == nil || w.greet() != nil {
		return nil
	}
	w.link.mu.Lock()
	defer w.link.mu.Unlock()
	return w.link.held[name]
}

// Recall implements process.Journal. It returns the entry of a process that an
// earlier instance started.
func (w *Watch) Recall(id process.ID) process.Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.recalled[id]; ok {
		return &entry{watch: w, cell: &c}
	}
	return &entry{watch: w}
}
