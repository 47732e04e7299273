package drivertest

import (
	"fmt"
	"strings"
)

// Shell returns a script of /bin/sh that does as asked, for drivers whose tasks
// are processes.
func Shell(s Script) string {
	var lines []string
	if s.Stubborn {
		lines = append(lines, `trap "" INT`)
	}
	lines = append(lines,
		fmt.Sprintf("printf '%%s' '%s'", s.Stdout),
		fmt.Sprintf("printf '%%s' '%s' >&2", s.Stderr))
	if s.Forever {
		lines = append(lines, "exec sleep 1000")
	}
	return strings.Join(append(lines, fmt.Sprintf("exit %d", s.ExitCode)), "\n")
}
