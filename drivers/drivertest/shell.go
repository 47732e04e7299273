package drivertest

import (
	"fmt"
	"strings"
)

// Shell returns a /bin/sh script for s, for drivers whose tasks are processes.
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

// FirstProcess is like Shell for the first process of a container, which only gets
// signals that it handles.
func FirstProcess(s Script) string {
	if !s.Forever {
		return Shell(s)
	}
	handle := "trap 'exit 0' INT TERM\n"
	if s.Stubborn {
		handle = "trap '' INT\n"
	}
	s.Forever, s.ExitCode = false, 0
	return handle + strings.TrimSuffix(Shell(s), "exit 0") + "sleep 1000 & wait $!"
}

// ShellCommand is a Harness.Command for drivers whose tasks have /bin/sh.
func ShellCommand(c Command) []string {
	script := fmt.Sprintf("printf '%%s' '%s'; printf '%%s' '%s' >&2; ", c.Stdout, c.Stderr)
	switch {
	case c.Forever:
		script += "exec sleep 1000"
	case c.Echo:
		script += "if [ -t 0 ]; then echo TTY: true; else echo TTY: false; fi; exec cat"
	default:
		script += fmt.Sprintf("exit %d", c.ExitCode)
	}
	return []string{"/bin/sh", "-c", script}
}

// ShellSize is a Harness.Size for drivers whose tasks have /bin/sh.
func ShellSize() []string {
	return []string{"/bin/sh", "-c", "while read line; do stty size; done"}
}
