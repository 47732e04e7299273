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
)

// A record is the file of one run, for those who clean up after it: the keeper,
// who has it open, or the next command of the user, who finds it in the
// directory of records. As long as the run's program or its keeper lives it is
// locked; a record that can be locked is that of a dead run. Nothing in it is
// worth an fsync: after the machine has died there is nothing to clean up.
//
// It has a line for each thing that would be left behind. A line is padded to a
// multiple of cellSize, written at once, and blanked when the thing is gone, so
// that the file does not grow with time and is whole at every moment.
type record struct {
	file *os.File
	path string // empty: nobody else can find it

	mu   sync.Mutex
	end  int64
	free map[int][]int64 // blank cells by size
	err  error           // the first failed write
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
// that nobody can find when there is none.
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
		err = lock(r.file, unix.LOCK_EX)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot keep a record of the run: %w", err)
	}
	r.put(fmt.Sprintf("program %d %d %s", self.PID, self.Start, bootID()), 0)
	return r, nil
}

func lock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
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
	program process.ID // that ran the jobs
	boot    string
	mark    uint64
	dirs    []string // of runs, see allocdir.Run
	sockets []string
	started []process.Child
}

// parse reads a record. Lines that it does not understand, for a newer taskrun
// wrote them, are left out.
func parse(r io.Reader) (c contents, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		kind, rest, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		var text string
		switch kind {
		case "program":
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
		case "process":
			var child process.Child
			if _, err := fmt.Sscanf(rest, "%d %d %q", &child.PID, &child.Start, &child.Tag); err == nil {
				c.started = append(c.started, child)
			}
		}
	}
	return c, lines.Err()
}
