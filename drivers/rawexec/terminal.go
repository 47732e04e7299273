package rawexec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/creack/pty"
	"github.com/hashicorp/nomad/api"
	"golang.org/x/sys/unix"
)

// openTerminal returns a terminal: our end, which is written and read, and the
// end of a command.
func openTerminal() (ours, theirs *os.File, err error) {
	ptmx, theirs, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open a terminal: %w", err)
	}
	if ours, err = interruptible(ptmx); err != nil {
		closeFiles(ptmx, theirs)
		return nil, nil, fmt.Errorf("cannot open a terminal: %w", err)
	}
	return ours, theirs, nil
}

// setSize tells a terminal its size. One that has no command any more needs
// none, so no error is of interest.
func setSize(terminal *os.File, s api.TerminalSize) {
	conn, err := terminal.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(s.Height), Col: uint16(s.Width)})
	})
}

// terminalClosed reports whether reading from a terminal failed because nobody
// has it open on the other side any more: Linux says EIO where others have an
// end of file.
func terminalClosed(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, fs.ErrClosed)
}
