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

// A message is what the keeper of a detached run and the run's program tell
// each other, each one line of JSON. One of the fields is set.
type message struct {
	// From the keeper. It begins with what there is: mark, children, held
	// files, and last Welcome.
	Mark    uint64         `json:",omitempty"`
	Child   *process.Child `json:",omitempty"` // one that there is, or that has just ended
	Buried  int            `json:",omitempty"` // so many that are in no record
	Welcome *welcome       `json:",omitempty"`

	// From the program.
	Reap  *process.ID `json:",omitempty"` // a child has been dealt with
	Stood bool        `json:",omitempty"` // the run stands: from now on it is started again
	Over  *over       `json:",omitempty"`

	// From both: a file comes with the message, to be held under that name.
	// Without a file it is not to be held any more.
	Hold string `json:",omitempty"`
	File bool   `json:",omitempty"`
	file *os.File
}

type welcome struct {
	Instance int // of the program, from 1 on
	Record   string
}

// over says that the program will end now, for the run has.
type over struct {
	Clean bool // nothing is left of it
}

// A line is one end of the connection. Messages may be sent from several
// goroutines at once.
type line struct {
	conn *net.UnixConn

	mu sync.Mutex // sending

	// Of the receiver alone.
	text  []byte
	files []*os.File
}

func newLine(f *os.File) (*line, error) {
	defer f.Close() // it is copied
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

// accept takes files out of what came beside the text.
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
