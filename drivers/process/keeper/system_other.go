//go:build !linux

package keeper

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Program returns the path by which this program executes itself.
func Program() (string, error) { return os.Executable() }

// setName: a process cannot change its name here.
func setName(string) {}

// bootID differs each time that the machine starts; "unknown" when the system
// does not tell.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if id = strings.TrimSpace(id); err == nil && id != "" {
		return id
	}
	return "unknown"
}
