package keeper

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"taskrun/drivers/process"
)

// linkVar is the variable by which a program knows that it runs under a keeper,
// in a detached run. It has these descriptors then; the report is there for the
// first instance alone.
const linkVar = "TASKRUN_KEEPER_LINK"

const (
	linkFD = iota + 3
	linkRecordFD
	linkClaimFD
	reportFD
)

// link is the program's end of a detached run. It is the process.Keeper of its
// program.
type link struct {
	line   *line
	pid    int
	record *os.File
	claim  *os.File
	report *os.File // nil when it was made, or is not for this instance
	news   func(buried int)

	welcome welcome
	mark    uint64

	mu       sync.Mutex
	children map[process.ID]process.Child
	held     map[string]*os.File
	lost     bool
}

// joined is what Main found.
var joined *link

// join takes the descriptors over before anything can inherit them.
func join() {
	number, err := strconv.Atoi(os.Getenv(linkVar))
	if err != nil {
		return
	}
	_ = os.Unsetenv(linkVar) // no task should know; cannot fail
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

// greet reads the keeper's messages up to its welcome, and follows the later ones
// in a goroutine. lost is called when the
// keeper has died.
func (l *link) greet(lost func()) error {
	for l.welcome.Instance == 0 {
		m, err := l.line.receive()
		if err != nil {
			return fmt.Errorf("cannot read from the keeper of the run: %w", err)
		}
		l.take(m)
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

// errLost is why the exit status of a process is unknown.
var errLost = errors.New("the keeper of the run was killed")

// lose records that the keeper has died: its children have another parent now,
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
				if _, ok := l.children[id]; ok { // it has not been dealt with meanwhile
					l.children[id] = c
				}
				l.mu.Unlock()
				l.news(0)
			}()
		}
	}
}

// PID is the keeper's number, -1 when it has died.
func (l *link) PID() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		return -1
	}
	return l.pid
}

// Child returns what is known of a child of the keeper.
func (l *link) Child(id process.ID) (process.Child, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.children[id]
	return c, ok
}

// Children returns all of them.
func (l *link) Children() []process.Child {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]process.Child, 0, len(l.children))
	for _, c := range l.children {
		list = append(list, c)
	}
	return list
}

// Reap tells the keeper that a child has been dealt with.
func (l *link) Reap(id process.ID) {
	l.mu.Lock()
	delete(l.children, id)
	l.mu.Unlock()
	_ = l.line.send(message{Reap: &id}) // without a keeper the system has reaped it
}
