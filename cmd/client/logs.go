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

// Log says what is to be read of a task's output.
type Log struct {
	Stream string // stdout or stderr
	Tail   int    // how many of the last lines; negative: all that is kept
}

// firstTail is how much of an output is looked at first to find its last
// lines, in bytes.
const firstTail = 64 << 10

// Started reports whether the task has output to read.
func (t *Task) Started() bool { return t.Name != "" && !t.State.StartedAt.IsZero() }

// Ended reports whether no task of the allocation will write any more.
func (t *Task) Ended() bool { return Ended(t.Alloc) }

// Ended reports whether nothing of an allocation runs any more.
func Ended(a *api.AllocationListStub) bool {
	return (&api.Allocation{ClientStatus: a.ClientStatus}).ClientTerminalStatus()
}

// Open opens an output of a task that has started, across rotated files and
// restarts. Reading ends with io.EOF when the server has ended well.
func (t *Task) Open(ctx context.Context, l Log) (io.ReadCloser, error) {
	var out io.ReadCloser
	var err error
	switch {
	case t.kept != nil:
		return t.openKept(l)
	case l.Tail < 0:
		out, err = t.open(ctx, l.Stream, api.OriginStart, 0)
	default:
		out, err = t.openTail(ctx, l)
	}
	if err != nil {
		return nil, t.Server.explain(ctx, fmt.Sprintf("read %s of task %q", l.Stream, t.Name), err)
	}
	return out, nil
}

// openKept opens an output of a run that has ended.
func (t *Task) openKept(l Log) (io.ReadCloser, error) {
	out, err := t.kept(l.Stream)
	if err != nil || l.Tail < 0 {
		return out, err
	}
	text, err := io.ReadAll(out)
	if err = errors.Join(err, out.Close()); err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(lastLines(text, l.Tail))), nil
}

// open opens an output at an offset from its beginning, or back from its end.
func (t *Task) open(ctx context.Context, stream, origin string, offset int64) (io.ReadCloser, error) {
	q := &api.QueryOptions{Namespace: t.Alloc.Namespace, Params: map[string]string{
		"task": t.Name, "type": stream, "follow": "false", "plain": "true",
		"origin": origin, "offset": strconv.FormatInt(offset, 10),
	}}
	return t.Server.API.Raw().Response(t.logsPath(), q.WithContext(ctx))
}

func (t *Task) logsPath() string { return "/v1/client/fs/logs/" + t.Alloc.ID }

// openTail opens the last lines of an output. Where they begin is found by
// reading ever more of its end.
func (t *Task) openTail(ctx context.Context, l Log) (io.ReadCloser, error) {
	for size := int64(firstTail); ; size *= 4 {
		out, err := t.open(ctx, l.Stream, api.OriginEnd, size)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(out)
		if err = errors.Join(err, out.Close()); err != nil {
			return nil, err
		}
		if last := lastLines(text, l.Tail); int64(len(text)) < size || len(last) < len(text) {
			return io.NopCloser(bytes.NewReader(last)), nil
		}
	}
}

// lastLines returns the last n lines of a text; one without an end is one, too.
func lastLines(text []byte, n int) []byte {
	if n == 0 {
		return nil
	}
	at := len(bytes.TrimSuffix(text, []byte{'\n'}))
	for ; n > 0 && at >= 0; n-- {
		at = bytes.LastIndexByte(text[:at], '\n')
	}
	return text[at+1:] // of all lines: -1
}
