package allocdir

import (
	"fmt"
	"os"
)

// short returns a path of a file in a directory, short enough for a socket.
func short(dir *os.File, _, name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name)
}
