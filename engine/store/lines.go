package store

import (
	"bytes"
	"io"
	"os"
)

// maxUnwritten is how much is kept, in bytes, of what could not be written yet.
const maxUnwritten = 1 << 20

// lineFile is a file that gets whole lines. What a full disk does not take is
// kept until there is room; of more than maxUnwritten the last lines.
type lineFile struct {
	file      *os.File
	end       int64 // of what is written
	unwritten []byte
}

// openLines opens a file to add lines to.
func openLines(path string) (*lineFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	end, err := file.Seek(0, io.SeekEnd)
	return &lineFile{file: file, end: end}, err
}

// Write takes lines in. It does not fail.
func (l *lineFile) Write(lines []byte) (int, error) {
	l.unwritten = append(l.unwritten, lines...)
	return len(lines), nil
}

// flush writes what was taken in.
func (l *lineFile) flush() error {
	if len(l.unwritten) == 0 {
		return nil
	}
	if _, err := l.file.WriteAt(l.unwritten, l.end); err != nil {
		_ = l.file.Truncate(l.end) // a part of it may be there
		l.unwritten = lastLines(l.unwritten, maxUnwritten)
		return err
	}
	l.end += int64(len(l.unwritten))
	l.unwritten = l.unwritten[:0]
	return nil
}

// lastLines returns the last lines of a text, as many as are so long at most.
func lastLines[T string | []byte](text T, length int) T {
	if len(text) <= length {
		return text
	}
	text = text[len(text)-length-1:] // one more, which may be a line's end
	cut := bytes.IndexByte([]byte(text), '\n')
	if cut < 0 {
		return text[len(text):]
	}
	return text[cut+1:]
}
