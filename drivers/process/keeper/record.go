package keeper

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"taskrun/drivers/process"
	"taskrun/engine/leaf/runtimedir"
)

// A record is the file of a run for the cleanup after it, by the keeper, which
// has it open, or by the user's next command, which finds it in the directory
// of records. It is locked while the run's program or its keeper is alive; a
// record that can be locked belongs to a dead run. It is never synced: after
// the machine has died there is nothing to clean up.
//
// It has a line for each thing to clean up. A line is padded to a multiple of
// cellSize, written at once, and blanked when the thing is gone, so that the
// file does not grow with time and is valid at every moment.
type record struct {
	file *os.File
	path string // empty: other programs cannot find it

	mu      sync.Mutex
	program cell
	end     int64
	free    map[int][]int64 // blank cells by size
	err     error           // the first failed write
}

const (
	suffix   = ".run"
	cellSize = 64
)

// A cell is the place of a line.
type cell struct {
	at   int64
	size int
}

// createRecord creates a record in a private directory of the user or, if dir
// is empty, a record without a name.
func createRecord(dir string) (*record, error) {
	r := &record{free: map[int][]int64{}}
	var err error
	self := process.Self()
	if dir == "" {
		r.file, err = os.CreateTemp("", "taskrun-*"+suffix)
		if err == nil {
			err = errors.Join(os.Remove(r.file.Name()), runtimedir.Flock(r.file, unix.LOCK_EX))
		}
	} else {
		r.path = filepath.Join(dir, fmt.Sprintf("%d-%d%s", self.PID, self.Start, suffix))
		r.file, err = createLocked(r.path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot keep a record of the run: %w", err)
	}
	r.program = r.put(programLine(self), programRoom)
	return r, nil
}

// createLocked creates a file and locks it. Another program may find it before it is
// locked and remove it, see openDead; createLocked then starts again.
func createLocked(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		if err := runtimedir.Flock(f, unix.LOCK_EX); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if runtimedir.CheckFile(f) == nil {
			return f, nil
		}
		_ = f.Close() // its name is removed already
	}
}

// programRoom is the maximum length of a line about a program.
const programRoom = 96

func programLine(id process.ID) string {
	return fmt.Sprintf("program %d %d %s", id.PID, id.Start, bootID())
}

// openRecord opens the record of an earlier program of the run, and returns its
// contents. That program has locked the file.
func openRecord(file *os.File, path string) (*record, contents, error) {
	r := &record{file: file, path: path, free: map[int][]int64{}}
	c, err := parse(file)
	if err != nil {
		return nil, c, fmt.Errorf("cannot read the record of the run: %w", err)
	}
	r.end, r.program = c.end, c.at
	for _, blank := range c.blank {
		r.free[blank.size] = append(r.free[blank.size], blank.at)
	}
	return r, c, nil
}

// put adds a line, in a cell with at least the given room in bytes.
func (r *record) put(line string, room int) cell {
	size := (max(len(line), room)/cellSize + 1) * cellSize // and a newline
	r.mu.Lock()
	defer r.mu.Unlock()
	c := cell{r.end, size}
	if blank := r.free[size]; len(blank) > 0 {
		c.at, r.free[size] = blank[len(blank)-1], blank[:len(blank)-1]
	} else {
		r.end += int64(size)
	}
	r.write(c, line)
	return c
}

// set replaces a line.
func (r *record) set(c cell, line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(c, line)
}

// blank removes a line.
func (r *record) blank(c cell) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(c, "")
	r.free[c.size] = append(r.free[c.size], c.at)
}

func (r *record) write(c cell, line string) {
	_, err := r.file.WriteAt([]byte(line+strings.Repeat(" ", c.size-1-len(line))+"\n"), c.at)
	if r.err == nil {
		r.err = err
	}
}

// failure returns the first error of a write.
func (r *record) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// remove removes the record: nothing is left of the run.
func (r *record) remove() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(removeRecord(r.file, r.path), r.file.Close())
}

// contents is the parsed content of a record.
type contents struct {
	program   process.ID // the engine
	at        cell       // its place
	boot      string
	mark      uint64
	dirs      []string // directories of runs, see datadir.Run
	kept      []string // those that a later program continues, see Watch.Keep
	sockets   []string
	socketsAt []cell
	scratch   []string // directories, see scratch.Make
	lasting   []lasting
	started   []started
	intents   []intent
	blank     []cell
	end       int64
}

// lasting is a driver's reference to tasks that are not processes.
type lasting struct{ driver, ref string }

// started is a process that was started.
type started struct {
	process.Child
	cell
}

// intent is a process that may have been started.
type intent struct {
	tag   string
	since uint64 // time of the intent, see process.Now
	cell
}

func processLine(id process.ID, tag string) string {
	return fmt.Sprintf("process %d %d %q", id.PID, id.Start, tag)
}

func intentLine(tag string) string { return fmt.Sprintf("intent %d %q", process.Now(), tag) }

// maxRecord limits the size of a record, in bytes. It is far more than a run
// with the maximum number of allocations needs.
const maxRecord = 64 << 20

// parse reads a record from its beginning. It ignores unknown lines, which a
// newer taskrun may have written.
func parse(file io.ReaderAt) (c contents, err error) {
	lines := bufio.NewReader(io.NewSectionReader(file, 0, maxRecord))
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return c, err
		}
		at := cell{c.end, len(line)}
		c.end += int64(len(line))
		c.take(strings.TrimSpace(line), at)
	}
}

func (c *contents) take(line string, at cell) {
	kind, rest, _ := strings.Cut(line, " ")
	var text string
	switch kind {
	case "":
		c.blank = append(c.blank, at)
	case "program":
		c.at = at
		_, _ = fmt.Sscanf(rest, "%d %d %s", &c.program.PID, &c.program.Start, &c.boot)
	case "mark":
		_, _ = fmt.Sscanf(rest, "%d", &c.mark)
	case "dir":
		if _, err := fmt.Sscanf(rest, "%q", &text); err == nil {
			c.dirs = append(c.dirs, text)
		}
	case "kept":
		if _, err := fmt.Sscanf(rest, "%q", &text); err == nil {
			c.kept = append(c.kept, text)
		}
	case "socket":
		if _, err := fmt.Sscanf(rest, "%q", &text); err == nil {
			c.sockets, c.socketsAt = append(c.sockets, text), append(c.socketsAt, at)
		}
	case "scratch":
		if _, err := fmt.Sscanf(rest, "%q", &text); err == nil {
			c.scratch = append(c.scratch, text)
		}
	case "lasting":
		var l lasting
		if _, err := fmt.Sscanf(rest, "%q %q", &l.driver, &l.ref); err == nil {
			c.lasting = append(c.lasting, l)
		}
	case "process":
		p := started{cell: at}
		if _, err := fmt.Sscanf(rest, "%d %d %q", &p.PID, &p.Start, &p.Tag); err == nil {
			c.started = append(c.started, p)
		}
	case "intent":
		i := intent{cell: at}
		if _, err := fmt.Sscanf(rest, "%d %q", &i.since, &i.tag); err == nil {
			c.intents = append(c.intents, i)
		}
	}
}

// removeRecord removes a record, if it has a name, and empties it: a keeper may still
// read it.
func removeRecord(f *os.File, path string) error {
	if err := f.Truncate(0); err != nil || path == "" {
		return err
	}
	return os.Remove(path)
}
