package docker

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
)

// mark records, in a file for a later instance of this program, how far the
// output of a task was read: the time of the last read, and the tail of the
// text written to the task's output. If this instance is killed, the buffer in
// flight is lost, but nothing is duplicated. Without a file, nothing is recorded:
// operations of a nil file fail.
type mark struct{ file *os.File }

// The file contains the time, in nanoseconds since 1970, and at tailAt the length
// of the tail and the tail.
const (
	timeLength = 19
	tailAt     = 32
	tailLength = 2048 // at most
)

func markFile(cfg *drivers.TaskConfig) string {
	return filepath.Join(allocdir.TaskOf(cfg.AllocDir, cfg.Name).Private, ".docker-read")
}

// openMark returns the mark of a task with its time and tail. Time 0 is the
// beginning.
func openMark(cfg *drivers.TaskConfig) (m mark, at int64, tail []byte) {
	name := markFile(cfg)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return mark{}, 0, nil // start at the beginning
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return mark{}, 0, nil
	}
	text := make([]byte, tailAt+4+tailLength)
	n, _ := file.ReadAt(text, 0)
	text = text[:n]
	at, _ = strconv.ParseInt(string(text[:min(n, timeLength)]), 10, 64)
	if n > tailAt+4 {
		if length, err := strconv.Atoi(string(text[tailAt : tailAt+4])); err == nil && 0 <= length && length <= n-tailAt-4 {
			tail = text[tailAt+4:][:length]
		}
	}
	return mark{file}, at, tail
}

func (m mark) setTime(at int64) {
	_, _ = m.file.WriteAt(strconv.AppendInt(nil, at, 10), 0)
}

func (m mark) setTail(tail []byte) {
	_, _ = m.file.WriteAt(append(fmt.Appendf(nil, "%04d", len(tail)), tail...), tailAt)
}

func (m mark) close() {
	_ = m.file.Close()
}

// addTail appends text to a tail and returns the last whole lines.
func addTail(tail, text []byte) []byte {
	tail = append(tail, text...)
	if over := len(tail) - tailLength; over > 0 {
		end := bytes.IndexByte(tail[over:], '\n')
		if end < 0 {
			end = tailLength - 1 // of one long line
		}
		tail = append(tail[:0], tail[over+end+1:]...)
	}
	return tail
}
