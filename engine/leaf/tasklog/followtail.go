package tasklog

import (
	"bytes"
	"errors"
	"io"

	"taskrun/engine/leaf/event"
)

// FollowTail reads backwards in growing blocks, up to a limit in bytes.
const (
	tailBlock = 64 << 10
	maxTail   = 16 << 20
)

// FollowTail returns the last lines of a stream that are on disk, and a reader
// that goes on behind them, which must be closed. Beyond 16 MiB it returns fewer
// lines, and the first one without its beginning. No files are no error.
func FollowTail(path, task string, stream event.Stream, lines int) ([]byte, *Reader, error) {
	for size := int64(tailBlock); ; size *= 4 {
		r, err := OpenReader(path, task, stream, size, io.SeekEnd)
		if err != nil {
			return nil, nil, err
		}
		text, err := io.ReadAll(io.LimitReader(r, size))
		if err != nil {
			return nil, nil, errors.Join(err, r.Close())
		}
		last := lastLines(text, lines)
		if int64(len(text)) < size || len(last) < bytes.Count(text, []byte{'\n'}) || size >= maxTail {
			return bytes.Join(last, nil), r, nil
		}
		if err := r.Close(); err != nil {
			return nil, nil, err
		}
	}
}

func lastLines(text []byte, lines int) [][]byte {
	all := bytes.SplitAfter(text, []byte{'\n'})
	if len(all[len(all)-1]) == 0 {
		all = all[:len(all)-1]
	}
	return all[max(0, len(all)-lines):]
}
