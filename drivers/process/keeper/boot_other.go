//go:build !linux

package keeper

import (
	"strings"

	"golang.org/x/sys/unix"
)

// bootID differs each time that the machine starts; "unknown" when the system
// does not tell.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if id = strings.TrimSpace(id); err == nil && id != "" {
		return id
	}
	return "unknown"
}
