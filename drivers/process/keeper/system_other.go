//go:build !linux

package keeper

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Program returns the path by which this program executes itself.
func Program() (string, error) { return os.Executable() }

// setName does nothing: a process cannot change its name here.
func setName(string) {}

// bootID returns an ID that changes with every boot, or "unknown".
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if id = strings.TrimSpace(id); err == nil && id != "" {
		return id
	}
	return "unknown"
}
