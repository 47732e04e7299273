package keeper

import (
	"errors"
	"fmt"
	"os"

	"taskrun/drivers/process"
)

// What follows is for the program of a detached run; see Detach.

// Detached reports whether this program runs under a keeper, which starts it
// again when it dies.
func (w *Watch) Detached() bool { return w.link != nil }

// Resumed reports whether an earlier instance of this program has died, whose
// run this one has to go on with. The error says that the keeper does not
// answer. What is adopted and held is known when it returns.
func (w *Watch) Resumed() (bool, error) {
	if w.link == nil {
		return false, nil
	}
	if err := w.greet(); err != nil {
		return false, err
	}
	return w.link.welcome.Instance > 1, nil
}

// Stands reports that the run stands, with some words about it, or why it does
// not, to the program that detached it. From then on this one is started again
// when it dies.
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
		return fmt.Errorf("cannot report that the run stands: %w", err)
	}
	return nil
}

// Hold has the keeper hold a file open, such as a lock, between instances of
// this program: the next one gets it from Held. A nil file ends that.
func (w *Watch) Hold(name string, f *os.File) error {
	if w.link == nil {
		return nil
	}
	if err := w.link.line.send(message{Hold: name, file: f}); err != nil {
		return fmt.Errorf("cannot have file %q held: %w", name, err)
	}
	return nil
}

// Held returns a file that the keeper holds, nil when it has none of that name.
func (w *Watch) Held(name string) *os.File {
	if w.link == nil || w.greet() != nil {
		return nil
	}
	w.link.mu.Lock()
	defer w.link.mu.Unlock()
	return w.link.held[name]
}

// Recall is for package process: the entry of what an earlier instance started.
func (w *Watch) Recall(id process.ID) process.Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.recalled[id]; ok {
		return &entry{watch: w, cell: &c}
	}
	return &entry{watch: w}
}
