package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Position is a position in an output. The zero value is its beginning.
type Position struct {
	File   string // relative to the allocation directory; empty: nothing was read
	Offset int64  // in the file
	Read   int64  // bytes before it
	End    bool   // the end, wherever that is
	Lost   bool   // some output before it was removed unread
}

// silentTime is how long a cluster may send nothing while an output is
// followed. Normally it sends an empty frame every second.
const silentTime = 30 * time.Second

// ErrBrokeOff says that the connection broke off while an output was read.
var ErrBrokeOff = errors.New("the connection broke off")

// errSilent is the cause of canceling a stream.
var errSilent = errors.New("the connection is silent")

// Read calls take with pieces of the output, from a
// position to the current end or, with follow, until ctx ends or the connection
// breaks off. It returns the position it has reached. take must not keep a
// piece.
func (l LogFiles) Read(ctx context.Context, from Position, follow bool, take func(piece []byte) error) (Position, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(silentTime, func() { cancel(errSilent) })
	defer silence.Stop()
	at := from
	if from.End {
		at = l.end(ctx)
	}
	out, err := l.frames(ctx, at, follow)
	if err != nil {
		return at, reason(ctx, err)
	}
	defer out.Close()
	for frames := json.NewDecoder(out); ; {
		var f api.StreamFrame
		err := frames.Decode(&f)
		switch {
		case errors.Is(err, io.EOF):
			return at, nil
		case err != nil:
			return at, fmt.Errorf("%w: %w", ErrBrokeOff, reason(ctx, err))
		}
		silence.Reset(silentTime)
		if len(f.Data) == 0 {
			continue
		}
		if err := take(f.Data); err != nil {
			return at, err
		}
		lost := at.Lost || l.number(f.File) > l.number(at.File)+1
		at = Position{File: f.File, Offset: f.Offset, Read: at.Read + int64(len(f.Data)), Lost: lost}
	}
}

func (l LogFiles) frames(ctx context.Context, from Position, follow bool) (io.ReadCloser, error) {
	origin, offset := api.OriginStart, int64(0)
	switch {
	case from.End:
		origin = api.OriginEnd
	case from.File != "":
		offset = l.offset(ctx, from)
	}
	return l.request(ctx, origin, offset, map[string]string{"follow": strconv.FormatBool(follow)})
}

// logFile is one of the files of an output.
type logFile struct {
	path   string
	number int
	size   int64
}

// files returns the files of an output, oldest first.
func (l LogFiles) files(ctx context.Context) (files []logFile, err error) {
	q := (&api.QueryOptions{Namespace: l.Task.Alloc.Namespace}).WithContext(ctx)
	list, _, err := l.Task.Server.API.AllocFS().List(l.Task.alloc(), logDir, q)
	for _, f := range list {
		if number := l.number(f.Name); number >= 0 {
			files = append(files, logFile{path.Join(logDir, f.Name), number, f.Size})
		}
	}
	slices.SortFunc(files, func(a, b logFile) int { return a.number - b.number })
	return files, err
}

// logDir is the directory with the outputs of an allocation's tasks; see
// https://developer.hashicorp.com/nomad/docs/concepts/filesystem.
const logDir = "alloc/logs"

// number returns the number of a file of an output; negative for other files.
func (l LogFiles) number(file string) int {
	text, ok := strings.CutPrefix(path.Base(file), l.Task.Name+"."+l.Stream.String()+".")
	n, err := strconv.Atoi(text)
	if !ok || err != nil {
		return -1
	}
	return n
}

// Back returns the position of the last lines of an output.
func (l LogFiles) Back(ctx context.Context, lines int) (Position, error) {
	files, err := l.files(ctx)
	if err != nil {
		return Position{}, reason(ctx, err)
	}
	total := sizeOf(files)
	last, err := tail(lines, func(size int64) ([]byte, error) {
		from := max(0, total-size)
		out, err := l.open(ctx, api.OriginStart, from)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(out, total-from)) // there may be more by now
		return text, errors.Join(err, out.Close())
	})
	if err != nil {
		return Position{}, reason(ctx, err)
	}
	return locate(files, total-int64(len(last))), nil
}

func sizeOf(files []logFile) (total int64) {
	for _, f := range files {
		total += f.size
	}
	return total
}

// locate returns the position at a number of bytes from the beginning of files.
func locate(files []logFile, at int64) Position {
	p := Position{Read: at}
	for i, f := range files {
		if p.File, p.Offset = f.path, at; at < f.size || i == len(files)-1 {
			break
		}
		at -= f.size
	}
	return p
}

// offset returns the distance of a position from the beginning of the remaining
// files of an output, in bytes: older files may have been removed. If the token
// may not list files, it is the number of bytes read.
func (l LogFiles) offset(ctx context.Context, at Position) int64 {
	files, err := l.files(ctx)
	if err != nil {
		return at.Read
	}
	before, last := int64(0), l.number(at.File)
	for _, f := range files {
		if f.number >= last {
			if f.number == last {
				before += at.Offset
			}
			break
		}
		before += f.size
	}
	return before
}

func (l LogFiles) end(ctx context.Context) Position {
	files, err := l.files(ctx)
	if err != nil || len(files) == 0 {
		return Position{End: err != nil}
	}
	return locate(files, sizeOf(files))
}
