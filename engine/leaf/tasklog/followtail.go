package tasklog

import (
	"bytes"
	"errors"
	"io"

	"taskrun/engine/leaf/event"
)

// FollowTail returns the last lines of a stream, as Tail does, and a reader
// that goes on behind them, which must be closed.
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
		last := (&tailReader{lines: lines, blocks: [][]byte{text}}).result()
		if int64(len(text)) < size || len(last) < bytes.Count(text, []byte{'\n'}) || size >= maxTail {
			return bytes.Join(last, nil), r, nil
		}
		if err := r.Close(); err != nil {
			return nil, nil, err
		}
	}
}
