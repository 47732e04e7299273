package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"taskrun/engine/leaf/event"
)

// Ledger keeps records in a file, as a Recorder does, but for as long as there is
// a data directory: it has no history, refuses a change that it cannot store, and
// keeps what is left of a damaged file. Its methods are safe for concurrent use.
type Ledger struct {
	bus  *event.Bus
	lost []string

	mu sync.Mutex // may be locked while the bus is locked, never the other way round
	*state
	recordFile // without a path, nothing is stored
	halt       func() bool
}

// NewLedger returns a ledger that stores nothing, and only publishes.
func NewLedger(bus *event.Bus) *Ledger { return &Ledger{bus: bus, state: newState()} }

// OpenLedger opens the ledger in a directory, which it creates on demand. Only one
// ledger may use a directory at a time. It sets a damaged file aside; Lost returns
// what is lost by that. A file of another version is an error, and stays as it is.
func OpenLedger(bus *event.Bus, dir string) (*Ledger, error) {
	l := &Ledger{bus: bus, state: newState(), recordFile: recordFile{path: filepath.Join(dir, stateFile)}}
	if err := l.open(dir); err != nil {
		return nil, fmt.Errorf("cannot read the state of the agent: %w", err)
	}
	return l, nil
}

func (l *Ledger) open(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return l.compact()
	}
	if err != nil {
		return err
	}
	var length int
	if l.state, length, l.lost, err = salvage(text); err != nil {
		return fmt.Errorf("%q %w: use the taskrun that wrote it, or another data directory", l.path, err)
	}
	if len(l.lost) > 0 {
		aside := asideOf(l.path)
		err := os.WriteFile(aside, text, 0o600)
		if err == nil {
			err = l.compact() // until then, the file stays in its place
		}
		if err != nil {
			return errors.Join(err, os.Remove(aside))
		}
		l.lost = append(l.lost, fmt.Sprintf("the file was set aside as %q", aside))
		return nil
	}
	return l.resume(length)
}

// Lost returns what was lost of the file when it was opened, in sentences.
func (l *Ledger) Lost() []string { return l.lost }

// Commit numbers the events of a change, stores the change, calls stored, and
// publishes the events. If it fails, nothing has changed. stored must not use the bus.
func (l *Ledger) Commit(c Change, stored func()) error {
	return l.bus.TryCommit(c.events, func(events []event.Event) error {
		if n := len(events); n > 0 && c.number != nil {
			c.number(&c, events[n-1].Seq)
		}
		if err := l.Store(c); err != nil {
			return err
		}
		stored()
		return nil
	})
}

// Store stores a change without its events. It does not use the bus.
func (l *Ledger) Store(c Change) error {
	if l.path == "" {
		return nil
	}
	rec, err := c.record()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stops() {
		return nil
	}
	if l.file == nil {
		return errors.New("cannot write the state of the agent: it is closed")
	}
	if err := l.append(rec); err != nil {
		return fmt.Errorf("cannot write the state of the agent: %w", err)
	}
	l.apply(rec)
	if l.size > max(compactAt, 4*l.live) {
		_ = l.compact() // the file is as good, only larger
	}
	l.stops()
	return nil
}

// compact writes a file with the current records only, and switches to it. Each
// record has a line of its own, so that damage to one costs no other.
func (l *Ledger) compact() error {
	keys := slices.Sorted(maps.Keys(l.values))
	text, err := appendLine(nil, header{Format: format, Version: version, Records: len(keys)})
	for _, key := range keys {
		if err == nil {
			text, err = appendLine(text, &record{Put: map[Key]json.RawMessage{key: l.values[key]}})
		}
	}
	if err != nil {
		return err
	}
	return l.replace(text)
}

// Keys returns the stored keys below a prefix, sorted.
func (l *Ledger) Keys(prefix Key) []Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys(prefix)
}

// Get reads the record with a key into a value. It reports whether the record
// exists.
func (l *Ledger) Get(key Key, into any) (ok bool, err error) {
	l.mu.Lock()
	text, ok := l.values[key]
	l.mu.Unlock()
	if !ok {
		return false, nil
	}
	return true, decode(key, text, into)
}

// HaltWhen makes the ledger call f before and after every write. Once f returns
// true, the ledger writes nothing more, as if the program had been killed.
func (l *Ledger) HaltWhen(f func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.halt = f
}

func (l *Ledger) stops() bool { return l.halt != nil && l.halt() }

// Close closes the file.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shut()
}

// salvage returns the state in the text of a ledger's file, the length of the part
// to which changes can be appended, and descriptions of what is lost. As in
// readState, a last line without an end is not lost, because its change was never
// reported as stored. A file of another version is an error.
func salvage(text []byte) (s *state, length int, lost []string, err error) {
	s = newState()
	var h header
	first, rest, whole := bytes.Cut(text, []byte("\n"))
	switch err := readLine(first, &h); {
	case err != nil || !whole || h.Format != format:
		h = header{}
		lost = append(lost, "its first line is damaged")
	case h.Version != version:
		return nil, 0, nil, fmt.Errorf("has version %d, but this taskrun can only read version %d", h.Version, version)
	}
	read, rest := s.read(rest, func(number int, line []byte, damage error) {
		lost = append(lost, fmt.Sprintf("line %d is damaged (%v)%s", number, damage, named(line)))
	})
	if missing := h.Records - read; missing > 0 {
		lost = append(lost, fmt.Sprintf("%d of %d records are missing at its end", missing, h.Records))
	}
	return s, len(text) - len(rest), lost, nil
}

// named returns what a damaged line was about, if that can be read.
func named(line []byte) string {
	var r record
	if _, text, ok := bytes.Cut(line, []byte(" ")); !ok || json.Unmarshal(text, &r) != nil {
		return ""
	}
	keys := slices.AppendSeq(slices.Clone(r.Drop), maps.Keys(r.Put))
	slices.Sort(keys)
	text := ""
	for _, key := range slices.Compact(keys) {
		text += fmt.Sprintf(" %q", key.Parts())
	}
	return text
}
