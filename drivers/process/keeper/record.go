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

// A record is the file of one run, for the cleanup after it: by the keeper,
// which has it open, or by the next command of the user, which finds it in the
// directory of records. As long as the run's program or its keeper lives it is
// locked; a record that can be locked is that of a dead run. Nothing in it is
// worth an fsync: after the machine has died there is nothing to clean up.
//
// It has a line for each thing that would be left behind. A line is padded to a
// multiple of cellSize, written at once, and blanked when the thing is gone, so
// that the file does not grow with time and is whole at every moment.
type record struct {
	file *os.File
	path string // empty: no other program can find it

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

// A cell is the place of one line.
type cell struct {
	at   int64
	size int
}

// createRecord makes a record in a directory that is the user's alone, or one
// without a name when there is none.
func createRecord(dir string) (*record, error) {
	r := &record{free: map[int][]int64{}}
	var err error
	self := process.Self()
	if dir == "" {
		r.file, err = os.CreateTemp("", "taskrun-*"+suffix)
		if err == nil {
			err = os.Remove(r.file.Name())
		}
	} else {
		r.path = filepath.Join(dir, fmt.Sprintf("%d-%d%s", self.PID, self.Start, suffix))
		r.file, err = os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err == nil {
		err = runtimedir.Flock(r.file, unix.LOCK_EX)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot keep a record of the run: %w", err)
	}
	r.program = r.put(programLine(self), programRoom)
	return r, nil
}

// programRoom is how long a line with a program can be.
const programRoom = 96

func programLine(id process.ID) string {
	return fmt.Sprintf("program %d %d %s", id.PID, id.Start, bootID())
}

// openRecord takes a record over from an earlier program of the run, and
// returns its contents. The program that opened the file has locked it.
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

// put adds a line, in a cell that has room for so many bytes at least.
func (r *record) put(line string, room int) cell {
	size := (max(len(line), room)/cellSize + 1) * cellSize // and the line's end
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

// blank takes a line out.
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

// remove says that nothing is left of the run.
func (r *record) remove() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.file.Truncate(0) // the keeper may look at it yet
	if r.path != "" {
		err = errors.Join(err, os.Remove(r.path))
	}
	return errors.Join(err, r.file.Close())
}

// contents is what a record says.
type contents struct {
	program process.ID // that runs the jobs
	at      cell       // where that stands
	boot    string
	mark    uint64
	dirs    []string // of runs, see allocdir.Run
	sockets []string
	lasting []lasting
	started []started
	intents []intent
	blank   []cell
	end     int64
}

// lasting is a driver's reference to tasks that are no processes.
type lasting struct{ driver, ref string }

// started is a process that was started.
type started struct {
	process.Child
	cell
}

// intent is a process that was to be started, and perhaps was.
type intent struct {
	tag   string
	since uint64 // when, see process.Now
	cell
}

func processLine(id process.ID, tag string) string {
	return fmt.Sprintf("process %d %d %q", id.PID, id.Start, tag)
}

func intentLine(tag string) string { return fmt.Sprintf("intent %d %q", process.Now(), tag) }

// maxRecord is how large a record may be, in bytes: far more than that of a run
// with all the allocations that a job may have.
const maxRecord = 64 << 20

// parse reads a record from its beginning. Lines that it does not understand,
// for a newer taskrun wrote them, are left out.
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
	case "socket":
		if _, err := fmt.Sscanf(rest, "%q", &text); err == nil {
			c.sockets = append(c.sockets, text)
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

func removeRecord(f *os.File, path string) error {
	if err := f.Truncate(0); err != nil || path == "" {
		return err
	}
	return os.Remove(path)
}
