package port

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// owner describes the process that listens on a port. It inspects every process of
// the machine.
func owner(number int) string {
	s, ok := find(number)
	if !ok {
		return someone
	}
	want := "socket:[" + s.inode + "]"
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*") // without those of other users
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != want {
			continue
		}
		pid := strings.Split(link, "/")[2]
		name, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
		if err != nil {
			return "process " + pid
		}
		return fmt.Sprintf("process %s (%s)", pid, strings.TrimSpace(string(name)))
	}
	return ofUser(s.uid)
}

// listening reports whether any process listens on a port.
func listening(number int) bool {
	_, ok := find(number)
	return ok
}

func find(number int) (socket, bool) {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if s, ok := findListening(string(table), number); ok {
			return s, true
		}
	}
	return socket{}, false
}
