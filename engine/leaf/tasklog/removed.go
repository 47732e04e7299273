package tasklog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// removed is a mark beside the files of a stream that has had more than one. The
// zero value is that of a stream from which none was removed.
type removed struct {
	below int   // files with lower numbers are gone, or about to be
	bytes int64 // what they held
	last  int   // the number of the file that is written
}

// markSize is the length of a mark, in bytes: it is written over the one before
// at once.
const markSize = 64

func markName(prefix string) string { return "." + prefix + ".purged" }

// readMark returns the mark of a stream. What is not a mark counts as none.
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

// write leaves the mark.
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
