package tasklog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// removed tells which files of a stream were removed. It is kept in a file beside
// them, called the mark, once the stream has had more than one file. The zero value
// means none.
type removed struct {
	below int   // files with lower numbers are gone, or about to be
	bytes int64 // what they held
	last  int   // the number of the file that is written
}

// markSize is the length of a mark in bytes. All marks have the same length, so
// that one write replaces the mark before.
const markSize = 64

func markName(prefix string) string { return "." + prefix + ".purged" }

// readMark returns the mark of a stream. It ignores a file that is not a mark.
func readMark(d dir, prefix string) (m removed, err error) {
	f, _, err := d.open(markName(prefix), unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errIrregular) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, markSize))
	if err != nil {
		return m, err
	}
	_, err = fmt.Sscanf(string(text), "%d %d %d\n", &m.below, &m.bytes, &m.last)
	if err != nil || m.below < 0 || m.below > maxIndex || m.bytes < 0 || m.last < 0 {
		return removed{}, nil // the disk had no room for it, or a task has written it
	}
	return m, nil
}

// write replaces the mark.
func (m removed) write(d dir, prefix string) error {
	f, _, err := d.open(markName(prefix), unix.O_WRONLY|unix.O_CREAT)
	if errors.Is(err, errIrregular) {
		f, err = d.create(markName(prefix), unix.O_WRONLY)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%-*s\n", markSize-1, fmt.Sprintf("%d %d %d", m.below, m.bytes, m.last))
	return errors.Join(err, f.Close())
}
