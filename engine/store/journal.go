package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"taskrun/engine/leaf/datadir"
)

// The directory of a run's state. Only the user can enter it, because it
// contains the environments and tokens of tasks.
const (
	stateDir  = datadir.RecoveryDir
	stateFile = "state"
)

// compactAt is the size of a state file, in bytes, from which it is rewritten,
// unless that would not make it much smaller.
const compactAt = 1 << 20

// journal is the state file of a run, open for more records, and the history
// that goes with it.
//
// A record is one line, written at once. A crash in the middle leaves a line
// without an end, which is ignored.
type journal struct {
	*state
	recordFile // not open after a failure: the next record makes a new file
	history    *os.File
	lines      uint64 // number of the last line of the history
	// unwritten are lines of the history that could not be written. They are
	// part of each record until they can.
	unwritten string
	keeps     bool        // an earlier state is better than none, see giveUp
	halt      func() bool // for tests, see Recorder.HaltWhen
	halted    bool        // nothing is written from now on
}

// HasState reports whether a run's directory holds the state of a run that can
// be continued.
func HasState(runDir string) bool {
	_, err := os.Lstat(filepath.Join(runDir, stateDir, stateFile))
	return err == nil
}

// HasHistory reports whether the history of a run has begun.
func HasHistory(runDir string) bool {
	info, err := os.Lstat(filepath.Join(runDir, historyFile))
	return err == nil && info.Size() > 0
}

// createJournal creates the state file of a new run with a first record.
func createJournal(runDir string, first *record) (*journal, error) {
	dir := filepath.Join(runDir, stateDir)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	j := &journal{state: newState(), recordFile: recordFile{path: filepath.Join(dir, stateFile)}}
	var err error
	if j.history, err = openHistory(runDir); err == nil {
		j.at, err = j.history.Seek(0, io.SeekEnd)
	}
	if err == nil {
		j.lines, err = lastNumber(j.history)
	}
	if err == nil {
		first.At = j.at
		j.apply(first)
		err = j.compact()
	}
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

// openJournal opens the state file of an interrupted run and completes its
// history. If the file is unusable, it is set aside, and the error says so.
func openJournal(runDir string) (*journal, error) {
	path := filepath.Join(runDir, stateDir, stateFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, length, err := readState(text)
	if err != nil {
		err = fmt.Errorf("%q %w", path, err)
		aside := asideOf(path)
		if renameErr := os.Rename(path, aside); renameErr != nil {
			return nil, errors.Join(err, renameErr)
		}
		return nil, fmt.Errorf("%w; it was set aside as %q", err, aside)
	}
	j := &journal{state: s, recordFile: recordFile{path: path}}
	if j.history, err = openHistory(runDir); err == nil {
		err = j.repairHistory()
	}
	if err == nil {
		err = j.resume(length)
	}
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

func openHistory(runDir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(runDir, historyFile), os.O_CREATE|os.O_RDWR, 0o600)
}

// repairHistory writes the lines of the last record, which the history may
// contain only in part.
func (j *journal) repairHistory() error {
	end, err := j.history.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	j.at = min(j.at, end) // the file may have been truncated
	if err := j.writeHistory(j.text); err != nil {
		return err
	}
	j.lines, err = lastNumber(j.history)
	return err
}

// asideOf returns a new name for an unusable state file.
func asideOf(path string) string {
	return path + "." + time.Now().UTC().Format("20060102T150405.000Z")
}

// write stores a record. If that fails, the record stays in memory, and the
// next one writes everything.
func (j *journal) write(r *record) error {
	if j.stops() {
		return nil
	}
	r.At, r.Text = j.at, lastLines(j.unwritten+r.Text, maxUnwritten)
	j.apply(r)
	err := j.writeRecord(r)
	if r.Text != "" && !j.stops() {
		err = errors.Join(err, j.writeHistory(r.Text))
	}
	j.stops()
	return err
}

// writeRecord appends a record to the file, or writes a new file if that is
// better.
func (j *journal) writeRecord(r *record) error {
	if j.file == nil || j.size > max(compactAt, 4*j.live) {
		return j.compact()
	}
	if err := j.append(r); err != nil {
		return errors.Join(err, j.giveUp())
	}
	return nil
}

// giveUp removes a file that lacks a record, because the run must not continue
// from an earlier state, unless it keeps one. The next record makes a new file.
func (j *journal) giveUp() error {
	err := j.shut()
	if !j.keeps {
		err = errors.Join(err, os.Remove(j.path))
	}
	return err
}

// try stores a record without lines of the history. If that fails, nothing has
// changed.
func (j *journal) try(r *record) error {
	if j.stops() {
		return nil
	}
	if j.file == nil || j.unwritten != "" {
		return errors.New("its state cannot be written at present")
	}
	r.Seq, r.At = j.seq, j.at
	if err := j.append(r); err != nil {
		return err
	}
	j.apply(r)
	j.stops()
	return nil
}

// compact writes the current state to a new file, and switches to that.
func (j *journal) compact() error {
	text, err := j.snapshot()
	if err != nil {
		return err
	}
	return j.replace(text)
}

// writeHistory writes lines at their place in the history, over anything that
// is there. It writes all of them or none.
func (j *journal) writeHistory(text string) error {
	j.unwritten = text
	if err := j.history.Truncate(j.at); err != nil {
		return err
	}
	n, err := j.history.WriteAt([]byte(text), j.at)
	if err != nil {
		return errors.Join(err, j.history.Truncate(j.at))
	}
	j.at += int64(n)
	j.unwritten = ""
	return nil
}

// stops reports whether writing has been halted.
func (j *journal) stops() bool {
	if !j.halted && j.halt != nil && j.halt() {
		j.halted = true
	}
	return j.halted
}

func (j *journal) close() (err error) {
	err = j.shut()
	if j.history != nil {
		err = errors.Join(err, j.history.Close())
	}
	return err
}

// remove removes the state of a run that has ended. On a full disk, that may
// make room for the rest of the history.
func (j *journal) remove() error {
	if j.stops() {
		return nil
	}
	err := os.RemoveAll(filepath.Dir(j.path))
	if j.unwritten != "" {
		err = errors.Join(err, j.writeHistory(j.unwritten))
	}
	return err
}

func (j *journal) runDir() string { return filepath.Dir(filepath.Dir(j.path)) }
