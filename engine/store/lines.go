package store

import (
	"bytes"
	"io"
	"os"

	"taskrun/engine/leaf/event"
)

// maxUnwritten limits the lines kept in memory because they could not be
// written, in bytes.
const maxUnwritten = 1 << 20

// lineFile is a file of whole lines. While the disk is full, it keeps the last
// maxUnwritten bytes of lines until there is room.
type lineFile struct {
	file      *os.File
	end       int64 // of the written part
	unwritten []byte
}

// openLines opens a file to append lines.
func openLines(path string) (*lineFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	end, err := file.Seek(0, io.SeekEnd)
	l := &lineFile{file: file, end: end}
	last := []byte{'\n'}
	if err == nil && end > 0 {
		_, err = file.ReadAt(last, end-1)
	}
	if last[0] != '\n' {
		l.unwritten = []byte{'\n'} // ends the half line of a program that was killed
	}
	return l, err
}

// Write buffers lines. It never fails.
func (l *lineFile) Write(lines []byte) (int, error) {
	l.unwritten = append(l.unwritten, lines...)
	return len(lines), nil
}

// flush writes the buffered lines.
func (l *lineFile) flush() error {
	if len(l.unwritten) == 0 {
		return nil
	}
	if _, err := l.file.WriteAt(l.unwritten, l.end); err != nil {
		_ = l.file.Truncate(l.end) // part of it may have been written
		l.unwritten = lastLines(l.unwritten, maxUnwritten)
		return err
	}
	l.end += int64(len(l.unwritten))
	l.unwritten = l.unwritten[:0]
	return nil
}

// lastLines returns the last lines of a text that fit into length bytes.
func lastLines[T string | []byte](text T, length int) T {
	if len(text) <= length {
		return text
	}
	text = text[len(text)-length-1:] // one more, which may be the end of a line
	cut := bytes.IndexByte([]byte(text), '\n')
	if cut < 0 {
		return text[len(text):]
	}
	return text[cut+1:]
}

// maxLine limits how far back lastNumber looks for a whole line, in bytes.
const maxLine = 1 << 20

// lastNumber returns the number of the last whole line of a history; 0 if it has
// none.
func lastNumber(file *os.File) (uint64, error) {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	text := make([]byte, min(info.Size(), 2*maxLine))
	if _, err := file.ReadAt(text, info.Size()-int64(len(text))); err != nil {
		return 0, err
	}
	for whole := bytes.LastIndexByte(text, '\n'); whole >= 0; {
		begin := bytes.LastIndexByte(text[:whole], '\n')
		if seq := event.Number(text[begin+1 : whole]); seq > 0 {
			return seq, nil
		}
		whole = begin
	}
	return 0, nil
}
