package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/hashicorp/nomad/api"
)

// Log is the part of a task's output to read.
type Log struct {
	Stream string // stdout or stderr
	Tail   int    // number of last lines; negative: all that is kept
}

// firstTail is how many bytes of an output are read first to find its last lines.
const firstTail = 64 << 10

// Open opens an output of a task that has started, across rotated files and
// restarts. Reading ends with io.EOF unless the connection breaks off.
func (t *Task) Open(ctx context.Context, l Log) (io.ReadCloser, error) {
	doing := fmt.Sprintf("read %s of task %q", l.Stream, t.Name)
	switch {
	case t.kept != nil && l.Tail < 0:
		return t.kept(l.Stream)
	case t.kept != nil:
		text, err := readAll(t.kept(l.Stream))
		return io.NopCloser(bytes.NewReader(lastLines(text, l.Tail))), err
	case l.Tail < 0:
		out, err := t.open(ctx, l.Stream, api.OriginStart, 0)
		return out, t.Server.explain(ctx, doing, err)
	}
	last, err := tail(l.Tail, func(size int64) ([]byte, error) { return readAll(t.open(ctx, l.Stream, api.OriginEnd, size)) })
	return io.NopCloser(bytes.NewReader(last)), t.Server.explain(ctx, doing, err)
}

// open opens an output at an offset from its beginning, or back from its end.
func (t *Task) open(ctx context.Context, stream, origin string, offset int64) (io.ReadCloser, error) {
	return t.logs(ctx, stream, map[string]string{"follow": "false", "plain": "true", "origin": origin, "offset": strconv.FormatInt(offset, 10)})
}

// logs requests an output.
func (t *Task) logs(ctx context.Context, stream string, params map[string]string) (io.ReadCloser, error) {
	params["task"], params["type"] = t.Name, stream
	q := &api.QueryOptions{Namespace: t.Alloc.Namespace, Params: params}
	return t.Server.API.Raw().Response("/v1/client/fs/logs/"+t.Alloc.ID, q.WithContext(ctx))
}

// tail returns the last lines of an output. It reads ever larger parts of its end
// until they contain these lines.
func tail(lines int, read func(size int64) ([]byte, error)) ([]byte, error) {
	for size := int64(firstTail); ; size *= 4 {
		text, err := read(size)
		if err != nil {
			return nil, err
		}
		if last := lastLines(text, lines); int64(len(text)) < size || len(last) < len(text) {
			return last, nil
		}
	}
}

func readAll(out io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(out)
	return text, errors.Join(err, out.Close())
}

// lastLines returns the last n lines of a text, including an unterminated one.
func lastLines(text []byte, n int) []byte {
	if n == 0 {
		return nil
	}
	at := len(bytes.TrimSuffix(text, []byte{'\n'}))
	for ; n > 0 && at >= 0; n-- {
		at = bytes.LastIndexByte(text[:at], '\n')
	}
	return text[at+1:] // -1 for all lines
}
