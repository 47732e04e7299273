package rawexec

import (
	"errors"
	"io/fs"
	"syscall"
)

// terminalClosed reports whether reading from a terminal failed because nobody
// has it open on the other side any more: Linux says EIO where others have an
// end of file.
func terminalClosed(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, fs.ErrClosed)
}
