package tasklog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"taskrun/engine/leaf/event"
)

// maxTail bounds what Tail reads, in bytes.
const maxTail = 16 << 20

const tailBlock = 64 << 10

// Tail returns the last lines of a stream that are on disk, oldest first, each
// with its newline; the last one may lack it. Beyond 16 MiB it returns fewer
// lines, and the first one without its beginning. No files are no error.
func Tail(path, task string, stream event.Stream, lines int) ([][]byte, error) {
	if lines <= 0 {
		return nil, nil
	}
	tail, err := readTail(path, task+"."+stream.String(), lines)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s of task %q: %w", stream, task, err)
	}
	return tail, nil
}

func readTail(path, prefix string, lines int) ([][]byte, error) {
	d, err := openDir(path)
	if err != nil {
		return nil, err
	}
	defer d.close()
	indexes, err := list(d, prefix)
	if err != nil {
		return nil, err
	}
	t := &tailReader{lines: lines}
	for _, index := range slices.Backward(indexes) {
		if err := t.read(d, fileName(prefix, index)); err != nil {
			return nil, err
		}
	}
	return t.result(), nil
}

// tailReader collects blocks backwards until they hold enough lines.
type tailReader struct {
	lines    int
	blocks   [][]byte // last first
	newlines int
	size     int
}

// enough: the newline before the first wanted line was seen.
func (t *tailReader) enough() bool { return t.newlines > t.lines || t.size >= maxTail }

func (t *tailReader) read(d dir, name string) error {
	if t.enough() {
		return nil
	}
	f, size, err := d.open(name, os.O_RDONLY)
	if isGone(err) {
		return nil // rotated away meanwhile
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return t.take(f, size)
}

// take reads a file of a size backwards. One that was cut meanwhile has less.
func (t *tailReader) take(file io.ReaderAt, size int64) error {
	for end := size; end > 0 && !t.enough(); {
		block := make([]byte, min(end, tailBlock))
		end -= int64(len(block))
		n, err := file.ReadAt(block, end)
		if err != nil && err != io.EOF {
			return err
		}
		t.blocks = append(t.blocks, block[:n])
		t.newlines += bytes.Count(block[:n], []byte{'\n'})
		t.size += n
	}
	return nil
}

func (t *tailReader) result() [][]byte {
	slices.Reverse(t.blocks)
	all := bytes.SplitAfter(bytes.Join(t.blocks, nil), []byte{'\n'})
	if len(all[len(all)-1]) == 0 {
		all = all[:len(all)-1]
	}
	return all[max(0, len(all)-t.lines):]
}
