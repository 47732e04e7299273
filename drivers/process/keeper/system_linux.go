package keeper

import (
	"os"
	"strings"
)

// Program returns the path by which this program executes itself, also when the
// file has been replaced since.
func Program() (string, error) { return "/proc/self/exe", nil }

// setName sets the name that ps and top show when they do not show arguments.
func setName(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0)
}

// bootID returns an ID that changes with every boot, or "unknown".
func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if id := strings.TrimSpace(string(data)); err == nil && id != "" {
		return id
	}
	return "unknown"
}
