package keeper

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"taskrun/drivers/process"
)

// linkVar tells a program that it runs in a detached run, under a keeper. It
// then has the following descriptors; only the first instance has the report.
const linkVar = "TASKRUN_KEEPER_LINK"

const (
	linkFD = iota + 3
	linkRecordFD
	linkClaimFD
	reportFD
)

// link is the program's connection to the keeper of a detached run. It is the
// process.Keeper of its program.
type link struct {
	line   *line
	pid    int
	record *os.File
	claim  *os.File
	report *os.File // nil if it was made before, or is not for this instance
	news   func(buried int)

	welcome welcome
	mark    uint64

	mu       sync.Mutex
	children map[process.ID]process.Child
	held     map[string]*os.File
	lost     bool
}

// joined is the link that Main found.
var joined *link

// join takes over the descriptors before any child can inherit them.
func join() {
	number, err := strconv.Atoi(os.Getenv(linkVar))
	if err != nil {
		return
	}
	_ = os.Unsetenv(linkVar) // hides it from tasks; cannot fail
	setName("taskrun")
	for fd := linkFD; fd <= reportFD; fd++ {
		unix.CloseOnExec(fd)
	}
	l := &link{
		pid: os.Getppid(), record: os.NewFile(linkRecordFD, "record"), claim: os.NewFile(linkClaimFD, "claim"),
		children: map[process.ID]process.Child{}, held: map[string]*os.File{},
	}
	if number == 1 {
		l.report = os.NewFile(reportFD, "report")
	}
	l.line, err = newLine(os.NewFile(linkFD, "keeper"))
	if err != nil {
		return
	}
	joined = l
}

// greet reads the keeper's messages up to its welcome. A goroutine then reads
// the later ones, and calls lost when the keeper has died. The error is errLost if
// it died before.
func (l *link) greet(lost func()) error {
	for l.welcome.Instance == 0 {
		m, err := l.line.receive()
		if err != nil {
			return fmt.Errorf("cannot read from the keeper of the run: %w", err)
		}
		l.take(m)
	}
	if l.line.cut() {
		return errLost // before this program has begun anything
	}
	process.InheritMark(l.mark, l.claim)
	l.news = process.SetKeeper(l)
	go func() {
		for {
			m, err := l.line.receive()
			if err != nil {
				break
			}
			l.take(m)
			if m.Child != nil || m.Buried > 0 {
				l.news(m.Buried)
			}
		}
		l.lose()
		lost()
	}()
	return nil
}

func (l *link) take(m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case m.Mark != 0:
		l.mark = m.Mark
	case m.Child != nil:
		l.children[m.Child.ID] = *m.Child
	case m.Hold != "":
		l.held[m.Hold] = m.file
	case m.Welcome != nil:
		l.welcome = *m.Welcome
	}
}

// errLost explains why the exit status of a process is unknown, or why this
// program does not start.
var errLost = errors.New("the keeper of the run was killed")

// lose records that the keeper has died. Its children now have another parent,
// which does not report how they end.
func (l *link) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true
	for id, c := range l.children {
		if c.Ended {
			continue
		}
		if ended := id.Ended(); ended != nil {
			go func() {
				<-ended
				l.mu.Lock()
				c.Ended = true
				c.Status, c.EndedAt = process.EndedUnseen(errLost)
				if _, ok := l.children[id]; ok { // not reaped in the meantime
					l.children[id] = c
				}
				l.mu.Unlock()
				l.news(0)
			}()
		}
	}
}

// PID returns the keeper's PID, or -1 if it has died.
func (l *link) PID() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		return -1
	}
	return l.pid
}

// Child returns a child of the keeper.
func (l *link) Child(id process.ID) (process.Child, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.children[id]
	return c, ok
}

// Children returns all children of the keeper.
func (l *link) Children() []process.Child {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.children))
}

// Reap lets the keeper reap a child.
func (l *link) Reap(id process.ID) {
	l.mu.Lock()
	delete(l.children, id)
	l.mu.Unlock()
	_ = l.line.send(message{Reap: &id}) // without a keeper the system has reaped it
}
