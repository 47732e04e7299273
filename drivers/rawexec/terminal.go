package rawexec

import (
	"fmt"
	"os"

	"github.com/creack/pty"
	"github.com/hashicorp/nomad/api"
	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a terminal: ours for input and output, and
// theirs for the command.
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

// setSize sets the size of a terminal. It ignores errors, because the command
// may have ended.
func setSize(terminal *os.File, s api.TerminalSize) {
	conn, err := terminal.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(s.Height), Col: uint16(s.Width)})
	})
}
