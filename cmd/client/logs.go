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

// arriving is an output from a server.
type arriving struct{ io.ReadCloser }

func (arriving) Time() time.Time { return time.Now() }

// firstTail is how many bytes of an output are read first to find its last lines.
const firstTail = 64 << 10

// Open opens an output of a task that has started, across rotated files and
// restarts. Reading ends with io.EOF unless the connection breaks off.
func (t *Task) Open(ctx context.Context, l Log) (Output, error) {
	doing := fmt.Sprintf("read %s of task %q", l.Stream, t.Name)
	files := LogFiles{t, l.Stream}
	switch {
	case t.kept != nil:
		return t.kept(l)
	case l.Tail < 0:
		out, err := files.open(ctx, api.OriginStart, 0)
		return arriving{out}, t.Server.explain(ctx, doing, err)
	}
	last, err := tail(l.Tail, func(size int64) ([]byte, error) { return readAll(files.open(ctx, api.OriginEnd, size)) })
	return arriving{io.NopCloser(bytes.NewReader(last))}, t.Server.explain(ctx, doing, err)
}

// LogFiles are the files of an output of a task, as its server keeps and rotates them.
type LogFiles struct {
	Task   *Task
	Stream event.Stream
}

// open opens the output at an offset from its beginning, or back from its end.
func (l LogFiles) open(ctx context.Context, origin string, offset int64) (io.ReadCloser, error) {
	return l.request(ctx, origin, offset, map[string]string{"follow": "false", "plain": "true"})
}

func (l LogFiles) request(ctx context.Context, origin string, offset int64, params map[string]string) (io.ReadCloser, error) {
	params["task"], params["type"] = l.Task.Name, l.Stream.String()
	params["origin"], params["offset"] = origin, strconv.FormatInt(offset, 10)
	q := &api.QueryOptions{Namespace: l.Task.Alloc.Namespace, Params: params}
	return l.Task.Server.API.Raw().Response("/v1/client/fs/logs/"+l.Task.Alloc.ID, q.WithContext(ctx))
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
