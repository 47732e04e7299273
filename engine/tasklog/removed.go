package tasklog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// removed is a mark beside the files of a stream from which some were removed.
// The zero value is that of a stream that has all.
type removed struct {
	below int   // files with lower numbers are gone, or about to be
	bytes int64 // what they held
}

// markSize is the length of a mark, in bytes: it is written over the one before
// at once.
const markSize = 40

func markName(prefix string) string { return "." + prefix + ".purged" }

// readMark returns the mark of a stream.
func readMark(root *os.Root, prefix string) (m removed, err error) {
	f, err := root.Open(markName(prefix))
	if errors.Is(err, fs.ErrNotExist) {
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
	if _, err := fmt.Sscanf(string(text), "%d %d\n", &m.below, &m.bytes); err != nil {
		return removed{}, nil // the disk had no room for it
	}
	return m, nil
}

// write leaves the mark.
func (m removed) write(root *os.Root, prefix string) error {
	f, err := root.OpenFile(markName(prefix), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%-*s\n", markSize-1, fmt.Sprintf("%d %d", m.below, m.bytes))
	return errors.Join(err, f.Close())
}
