package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Log is the part of a task's output to read.
type Log struct {
	Stream event.Stream
	Tail   int       // number of last lines; negative: all that is kept
	Since  time.Time // not for a server, which keeps no times; zero: all
}

// Output is an output that is read. Time returns when the output of the latest Read
// was read from the task or, from a server, has arrived.
type Output interface {
	io.ReadCloser
	Time() time.Time
}

// arriving is an output from a server.
type arriving struct{ io.ReadCloser }

func (arriving) Time() time.Time { return time.Now() }

// firstTail is how many bytes of an output are read first to find its last lines.
const firstTail = 64 << 10

// Open opens an output of a task that has started, across rotated files and
// restarts. Reading ends with io.EOF unless the connection breaks off.
func (t *Task) Open(ctx context.Context, l Log) (Output, error) {
	doing := fmt.Sprintf("read %s of task %q", l.Stream, t.Name)
	stream := l.Stream.String()
	switch {
	case t.kept != nil:
		return t.kept(l)
	case l.Tail < 0:
		out, err := t.open(ctx, stream, api.OriginStart, 0)
		return arriving{out}, t.Server.explain(ctx, doing, err)
	}
	last, err := tail(l.Tail, func(size int64) ([]byte, error) { return readAll(t.open(ctx, stream, api.OriginEnd, size)) })
	return arriving{io.NopCloser(bytes.NewReader(last))}, t.Server.explain(ctx, doing, err)
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
