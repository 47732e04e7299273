package keeper

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"taskrun/drivers/process"
)

// A message between the keeper of a detached run and the run's program is one
// line of JSON. One of the fields is set.
type message struct {
	// From the keeper. It starts with the current state: mark, children, held
	// files, and finally Welcome.
	Mark    uint64         `json:",omitempty"`
	Child   *process.Child `json:",omitempty"` // exists, or has just ended
	Buried  int            `json:",omitempty"` // number of reaped children without a record
	Welcome *welcome       `json:",omitempty"`

	// From the program.
	Reap  *process.ID `json:",omitempty"` // the keeper may reap this child
	Stood bool        `json:",omitempty"` // the run has started: restart the program from now on
	Over  *over       `json:",omitempty"`

	Next *next `json:",omitempty"` // what follows this instance

	// From both: the file sent with the message is held under this name.
	// Without a file, the name is released.
	Hold string `json:",omitempty"`
	File bool   `json:",omitempty"`
	file *os.File
}

type welcome struct {
	Instance int // instance of the program, from 1
	Record   string
}

// over says that the run has ended, and the program will end now.
type over struct {
	Clean bool // nothing is left of the run
}

// next says how a detached run continues after the end of the program.
type next struct {
	Path string // of the program; empty: that of the keeper
	Wait bool   // do nothing until Wake
}

// A line is one end of the connection. Sending is safe for concurrent use.
type line struct {
	conn *net.UnixConn

	mu sync.Mutex // serializes sending

	// Used only by the receiver.
	text  []byte
	files []*os.File
}

func newLine(f *os.File) (*line, error) {
	defer f.Close() // it is duplicated
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return &line{conn: conn.(*net.UnixConn)}, nil
}

func (l *line) send(m message) error {
	m.File = m.file != nil
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var rights []byte
	if m.file != nil {
		rights = unix.UnixRights(int(m.file.Fd()))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _, err = l.conn.WriteMsgUnix(append(text, '\n'), rights, nil)
	return err
}

// receive waits for the next message.
func (l *line) receive() (m message, err error) {
	for {
		if text, rest, ok := bytes.Cut(l.text, []byte("\n")); ok {
			l.text = rest
			err := json.Unmarshal(text, &m)
			if m.File && len(l.files) > 0 {
				m.file, l.files = l.files[0], l.files[1:]
			}
			return m, err
		}
		b, rights := make([]byte, 4096), make([]byte, 256)
		n, nrights, _, _, err := l.conn.ReadMsgUnix(b, rights)
		if err != nil {
			return m, err
		}
		if n == 0 {
			return m, net.ErrClosed
		}
		l.text = append(l.text, b[:n]...)
		if err := l.accept(rights[:nrights]); err != nil {
			return m, err
		}
	}
}

// accept takes the files that arrived with the text.
func (l *line) accept(rights []byte) error {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return err
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			l.files = append(l.files, os.NewFile(uintptr(fd), "held"))
		}
	}
	return nil
}

// cut reports whether the other end was closed. There may still be messages.
func (l *line) cut() (cut bool) {
	raw, err := l.conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			fds := []unix.PollFd{{Fd: int32(fd)}}
			_, _ = unix.Poll(fds, 0) // without an answer it is as if it were open
			cut = fds[0].Revents&unix.POLLHUP != 0
		})
	}
	return cut || err != nil
}

func (l *line) close() error { return l.conn.Close() }

// pair returns two connected sockets.
func pair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, errors.Join(errors.New("cannot make a pair of sockets"), err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return os.NewFile(uintptr(fds[0]), "keeper"), os.NewFile(uintptr(fds[1]), "program"), nil
}
