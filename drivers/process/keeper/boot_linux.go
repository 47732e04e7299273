package keeper

import (
	"os"
	"strings"
)

// bootID differs each time that the machine starts; "unknown" when the system
// does not tell.
func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if id := strings.TrimSpace(string(data)); err == nil && id != "" {
		return id
	}
	return "unknown"
}
