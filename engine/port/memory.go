package port

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Memory records the latest port of each slot of a job in a file, one port a line.
// The last line of a slot counts. Lines that cannot be read are ignored, because a
// port that changes does no harm.
type Memory struct {
	mu    sync.Mutex
	path  string
	ports map[string]int // by slot
	slots map[int]string
	file  *os.File // opened by the first Keep of a new port
}

// Recall reads a file, which need not exist. The caller must close the memory.
func Recall(path string) *Memory {
	m := &Memory{path: path, ports: map[string]int{}, slots: map[int]string{}}
	text, _ := os.ReadFile(path)
	lines := 0
	for line := range strings.Lines(string(text)) {
		number, quoted, _ := strings.Cut(strings.TrimSpace(line), " ")
		slot, err := strconv.Unquote(quoted)
		port, numErr := strconv.Atoi(number)
		if lines++; err == nil && numErr == nil && port > 0 && port < 1<<16 {
			m.set(slot, port)
		}
	}
	if lines > len(m.ports) {
		_ = m.rewrite()
	}
	return m
}

func (m *Memory) set(slot string, port int) {
	if old := m.ports[slot]; m.slots[old] == slot {
		delete(m.slots, old)
	}
	m.ports[slot], m.slots[port] = port, slot
}

// rewrite removes the lines that no longer count.
func (m *Memory) rewrite() error {
	var text strings.Builder
	for _, slot := range slices.Sorted(maps.Keys(m.ports)) {
		text.WriteString(line(slot, m.ports[slot]))
	}
	next := m.path + ".new"
	if err := os.WriteFile(next, []byte(text.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, m.path)
}

func line(slot string, port int) string { return fmt.Sprintf("%d %q\n", port, slot) }

// Of returns the latest port of a slot, or 0 if it had none.
func (m *Memory) Of(slot string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ports[slot]
}

// Has reports whether some slot had a port.
func (m *Memory) Has(port int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.slots[port]
	return ok
}

// Keep records the port of a slot.
func (m *Memory) Keep(slot string, port int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ports[slot] == port {
		return nil
	}
	m.set(slot, port)
	var err error
	if m.file == nil {
		if m.file, err = os.OpenFile(m.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			return err
		}
	}
	_, err = m.file.WriteString(line(slot, port))
	return err
}

// Close closes the file.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	defer func() { m.file = nil }()
	return m.file.Close()
}
