package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

// The limits of Files. They are those of a server that lists directories without end.
const (
	maxFiles = 250_000
	maxDepth = 256
)

// Files are the files of a task's allocation, as the server has them, even if the
// allocation has ended. It does not show where symbolic links lead, and Nomad refuses to
// read secrets.
//
// Only directories are listed and regular files read: to ask Nomad about a pipe opens it.
type Files struct {
	task *Task
	ctx  context.Context //nolint:containedctx // of one copy, as a tarball.Source has none
	seen map[string]fs.FileInfo
}

// Files returns the files of the task's allocation. Requests end with ctx.
func (t *Task) Files(ctx context.Context) *Files {
	return &Files{task: t, ctx: ctx, seen: map[string]fs.FileInfo{}}
}

// Lstat returns the entry of a file in its directory.
func (f *Files) Lstat(name string) (fs.FileInfo, error) {
	if f.seen[name] == nil {
		if _, err := f.ReadDir(path.Dir(name), nil); err != nil {
			return nil, err
		}
	}
	if info := f.seen[name]; info != nil {
		return info, nil
	}
	return nil, notExist(name)
}

func notExist(name string) error { return &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist} }

// Readlink fails: there is no request for the target of a link.
func (f *Files) Readlink(string) (string, error) { return "", errors.ErrUnsupported }

// ReadDir returns the names in a directory.
func (f *Files) ReadDir(name string, _ fs.FileInfo) ([]string, error) {
	names, err := f.list(name)
	return names, f.removed(name, err)
}

// removed returns fs.ErrNotExist if a file is not there, but the allocation is.
func (f *Files) removed(name string, err error) error {
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok || refused.Code != http.StatusNotFound && !strings.Contains(refused.Text, "no such file or directory") {
		return err
	}
	if _, err := f.list("."); err != nil {
		return fmt.Errorf("the files of the allocation may have been removed: %w", err)
	}
	return notExist(name)
}

func (f *Files) list(name string) (names []string, err error) {
	list, _, err := ask(f.ctx, f.task.Server.in(f.task.Alloc.Namespace), fmt.Sprintf("list %s of allocation %s", name, f.task.Alloc.ID[:8]), 0, func(q *api.QueryOptions) ([]*api.AllocFileInfo, *api.QueryMeta, error) {
		return f.task.Server.API.AllocFS().List(f.task.alloc(), name, q)
	})
	switch {
	case err != nil:
		return nil, err
	case len(f.seen)+len(list) > maxFiles:
		return nil, fmt.Errorf("there are more than %d files: copy them in parts", maxFiles)
	case strings.Count(name, "/") >= maxDepth:
		return nil, fmt.Errorf("directories are nested more than %d deep", maxDepth)
	}
	for _, entry := range list {
		if entry == nil || !fs.ValidPath(entry.Name) || entry.Name == "." || strings.Contains(entry.Name, "/") {
			return nil, fmt.Errorf("%v listed a file in %s with a name that no file can have", f.task.Server, name)
		}
		f.seen[path.Join(name, entry.Name)] = fileInfo{entry}
		names = append(names, entry.Name)
	}
	return names, nil
}

// Open opens a file, of which it reads the size that was seen.
func (f *Files) Open(name string, seen fs.FileInfo) (io.ReadCloser, error) {
	if seen.Size() == 0 {
		return io.NopCloser(strings.NewReader("")), nil // Nomad takes the limit 0 for none
	}
	ctx, cancel := context.WithCancelCause(f.ctx)
	r := &fileReader{name: name, ctx: ctx, cancel: cancel, size: seen.Size(), left: seen.Size()}
	r.silence = time.AfterFunc(silentTime, func() { cancel(errSilent) })
	q := &api.QueryOptions{Namespace: f.task.Alloc.Namespace, Params: map[string]string{
		"path": name, "offset": "0", "limit": fmt.Sprint(seen.Size()),
	}}
	body, err := f.task.Server.API.Raw().Response("/v1/client/fs/readat/"+f.task.Alloc.ID, q.WithContext(ctx))
	r.silence.Stop()
	if err != nil {
		defer cancel(nil)
		return nil, f.removed(name, f.task.Server.explain(ctx, "read "+name, err))
	}
	r.body = body
	return r, nil
}

// fileReader reads a file from a server.
type fileReader struct {
	name    string
	ctx     context.Context //nolint:containedctx // of the request
	cancel  context.CancelCauseFunc
	silence *time.Timer
	body    io.ReadCloser
	size    int64
	left    int64
}

// Read fails unless all that was asked for arrives, and nothing else: Nomad ends a
// transfer without an error if it loses the node, and appends other errors to the bytes of
// the file.
func (r *fileReader) Read(p []byte) (int, error) {
	r.silence.Reset(silentTime)
	defer r.silence.Stop()
	n, err := r.body.Read(p)
	r.left -= int64(n)
	more := 0
	if r.left == 0 && err == nil {
		more, err = io.ReadFull(r.body, make([]byte, 1))
	}
	switch {
	case r.left < 0 || more > 0:
		return 0, fmt.Errorf("cannot read %s to its end", r.name)
	case r.left > 0 && errors.Is(err, io.EOF):
		err = fmt.Errorf("%s ended after %d of %d bytes: it was truncated, or its node was lost", r.name, r.size-r.left, r.size)
	case err != nil && !errors.Is(err, io.EOF):
		err = fmt.Errorf("%w: %w", ErrBrokeOff, reason(r.ctx, err))
	}
	return n, err
}

// Close ends the transfer.
func (r *fileReader) Close() error {
	r.cancel(nil)
	return r.body.Close()
}

// fileInfo is a file in a list of a server.
type fileInfo struct{ *api.AllocFileInfo }

func (i fileInfo) Name() string       { return i.AllocFileInfo.Name }
func (i fileInfo) Size() int64        { return i.AllocFileInfo.Size }
func (i fileInfo) ModTime() time.Time { return i.AllocFileInfo.ModTime }
func (i fileInfo) IsDir() bool        { return i.Mode().IsDir() }
func (i fileInfo) Sys() any           { return nil }

// Mode parses the text of fs.FileMode.String. An unknown text is irregular: neither
// file nor directory.
func (i fileInfo) Mode() (mode fs.FileMode) {
	const kinds, rights = "dalTLDpSugct?", "rwxrwxrwx"
	kind, right := "", ""
	if at := len(i.FileMode) - len(rights); at > 0 {
		kind, right = i.FileMode[:at], i.FileMode[at:]
	}
	if right == "" {
		return fs.ModeIrregular
	}
	for n, letter := range []byte(right) {
		switch letter {
		case rights[n]:
			mode |= 1 << (len(rights) - 1 - n)
		case '-':
		default:
			return fs.ModeIrregular
		}
	}
	for _, letter := range strings.TrimPrefix(kind, "-") {
		bit := strings.IndexRune(kinds, letter)
		if bit < 0 {
			return fs.ModeIrregular
		}
		mode |= 1 << (31 - bit)
	}
	return mode
}
