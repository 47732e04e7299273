package tasklog

import (
	"bytes"
	"errors"
	"io"

	"taskrun/engine/leaf/event"
)

// openTail reads backwards in growing blocks, up to a maximum.
const (
	tailBlock = 64 << 10
	maxTail   = 256 << 20
)

// openTail opens a stream at the last lines that are on disk; see Part.
func openTail(path, task string, stream event.Stream, lines int) (*Reader, error) {
	for size := int64(tailBlock); ; size *= 4 {
		r, err := OpenReader(path, task, stream, size, io.SeekEnd)
		if err != nil {
			return nil, err
		}
		begin := r.at
		found, read, err := countLines(io.LimitReader(r, size))
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
		if read == size && found <= lines && size < maxTail {
			continue // the first line may have begun earlier
		}
		if r, err = OpenReader(path, task, stream, begin, seekStream); err != nil {
			return nil, err
		}
		if err := r.skipLines(found - lines); err != nil {
			return nil, errors.Join(err, r.Close())
		}
		return r, nil
	}
}

func countLines(from io.Reader) (lines int, read int64, err error) {
	buf := make([]byte, tailBlock)
	whole := true
	for {
		n, err := from.Read(buf)
		if n > 0 {
			lines += bytes.Count(buf[:n], []byte{'\n'})
			read += int64(n)
			whole = buf[n-1] == '\n'
		}
		if errors.Is(err, io.EOF) {
			if !whole {
				lines++
			}
			return lines, read, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

// skipLines skips n lines, or all if there are fewer.
func (r *Reader) skipLines(n int) error {
	buf := make([]byte, tailBlock)
	for n > 0 {
		read, err := r.Read(buf)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		rest := buf[:read]
		for n > 0 {
			_, after, ok := bytes.Cut(rest, []byte{'\n'})
			rest = after
			if !ok {
				break
			}
			n--
		}
		r.move(-len(rest))
	}
	return nil
}

// SkipTo skips all that is on disk but the last bytes, and counts it as skipped. A
// reader uses it to show only the latest part of much output. It must not run at
// the same time as Read.
func (r *Reader) SkipTo(last int64) {
	r.Hold()
	rest, behind := r.ahead()
	for behind > 0 && behind >= last {
		r.skip(rest)
		r.goOn()
		rest, behind = r.ahead()
	}
	if over := rest + behind - last; over > 0 {
		r.skip(min(over, rest))
	}
}

// skip moves ahead by n bytes in the file without reading them.
func (r *Reader) skip(n int64) {
	r.offset += n
	r.at += n
	r.skipped += n
}

// ahead returns how many bytes are left to read in the current file, and in the
// held files after it.
func (r *Reader) ahead() (rest, behind int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.held {
		behind += sizeOf(h.file)
	}
	if r.file != nil {
		rest = max(0, sizeOf(r.file)-r.offset)
	}
	return rest, behind
}
