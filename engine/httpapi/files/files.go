package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"taskrun/engine/httpapi/rest"
)

// maxEntries is how many entries of a directory are listed: a task may make as
// many as it likes.
const maxEntries = 50_000

// sniffed is how much of a file tells its type, in bytes.
const sniffed = 512

// fileInfo is a file as clients see it.
type fileInfo struct {
	Name        string
	IsDir       bool
	Size        int64
	FileMode    string
	ModTime     time.Time
	ContentType string `json:",omitempty"`
}

func newFileInfo(info fs.FileInfo) fileInfo {
	return fileInfo{
		Name: info.Name(), IsDir: info.IsDir(), Size: info.Size(),
		FileMode: info.Mode().String(), ModTime: info.ModTime(),
	}
}

// place is a file or directory in an allocation's directory.
type place struct {
	root *os.Root
	name string // below the root; no symbolic link unless somebody has just made it one
}

// find finds what a request names, and opens the allocation's directory.
// Nothing outside of it can be reached, by no symbolic link either, and no
// directory of secrets.
func (h *Handler) find(r *rest.Request) (*place, error) {
	a, ok := h.engine.Alloc(r.ID)
	if !ok {
		return nil, rest.UnknownAlloc(r.ID)
	}
	name := strings.TrimLeft(r.Query.Get("path"), "/")
	if name == "" {
		name = "."
	}
	if !filepath.IsLocal(name) {
		return nil, errEscapes
	}
	dir, err := filepath.EvalSymlinks(a.Dir)
	if err != nil {
		return nil, fileError(err, a.Dir)
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if err != nil {
		return nil, fileError(err, a.Dir)
	}
	inside, err := filepath.Rel(dir, resolved)
	if err != nil || !filepath.IsLocal(inside) {
		return nil, errEscapes
	}
	if _, below, _ := strings.Cut(inside, "/"); below != "" {
		if first, _, _ := strings.Cut(below, "/"); first == "secrets" || first == "private" {
			return nil, rest.Fail(http.StatusForbidden, "Reading secret file prohibited: %s", name)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fileError(err, a.Dir)
	}
	return &place{root, inside}, nil
}

var errEscapes = rest.Fail(http.StatusBadRequest, "Path escapes the alloc directory")

// fileError answers with what is wrong with a file, without the place where
// allocations are kept.
func fileError(err error, dir string) error {
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		code = http.StatusNotFound
	case errors.Is(err, fs.ErrPermission):
		code = http.StatusForbidden
	}
	return rest.Fail(code, "%s", strings.ReplaceAll(err.Error(), dir+"/", ""))
}

// open opens a regular file. Anything else is not opened: a pipe's reader
// would take what is not meant for it.
func (p *place) open() (*os.File, fs.FileInfo, error) {
	info, err := p.root.Lstat(p.name)
	if err != nil {
		return nil, nil, fileError(err, p.root.Name())
	}
	if !info.Mode().IsRegular() {
		return nil, nil, rest.Fail(http.StatusBadRequest, "%s is no regular file", p.name)
	}
	f, err := p.root.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fileError(err, p.root.Name())
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", p.name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// List answers GET /v1/client/fs/ls/:id.
func (h *Handler) List(r *rest.Request) (any, error) {
	p, err := h.find(r)
	if err != nil {
		return nil, err
	}
	defer p.root.Close()
	entries, err := p.entries()
	if err != nil {
		return nil, err
	}
	list := []fileInfo{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // else it is gone by now
			list = append(list, newFileInfo(info))
		}
	}
	return list, nil
}

// entries are those of a directory, by name.
func (p *place) entries() ([]fs.DirEntry, error) {
	info, err := p.root.Lstat(p.name)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "readdir", Path: p.name, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, fileError(err, p.root.Name())
	}
	dir, err := p.root.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fileError(err, p.root.Name())
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxEntries + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fileError(err, p.root.Name())
	case len(entries) > maxEntries:
		return nil, rest.Fail(http.StatusBadRequest, "directory %s has more than %d entries", p.name, maxEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Stat answers GET /v1/client/fs/stat/:id.
func (h *Handler) Stat(r *rest.Request) (any, error) {
	p, err := h.find(r)
	if err != nil {
		return nil, err
	}
	defer p.root.Close()
	info, err := p.root.Lstat(p.name)
	if err != nil {
		return nil, fileError(err, p.root.Name())
	}
	answer := newFileInfo(info)
	answer.ContentType = "application/octet-stream" // also of directories, as in Nomad
	if info.Mode().IsRegular() {
		f, _, err := p.open()
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if answer.ContentType, err = contentType(f, p.name); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// contentType tells the type of a file by its name or else by how it begins.
func contentType(f *os.File, name string) (string, error) {
	if known := mime.TypeByExtension(path.Ext(name)); known != "" {
		return known, nil
	}
	head := make([]byte, sniffed)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return http.DetectContentType(head[:n]), nil
}

// Cat answers GET /v1/client/fs/cat/:id with the whole file.
func (h *Handler) Cat(r *rest.Request) error { return h.send(r, 0, 0) }

// ReadAt answers GET /v1/client/fs/readat/:id with a part of the file; a
// limit that is not above 0 means the rest.
func (h *Handler) ReadAt(r *rest.Request) error {
	offset, err := strconv.ParseInt(r.Query.Get("offset"), 10, 64)
	if err != nil || offset < 0 {
		return rest.Fail(http.StatusBadRequest, "error parsing offset: %q is no number of bytes", r.Query.Get("offset"))
	}
	limit := int64(0)
	if raw := r.Query.Get("limit"); raw != "" {
		if limit, err = strconv.ParseInt(raw, 10, 64); err != nil {
			return rest.Fail(http.StatusBadRequest, "error parsing limit: %v", err)
		}
	}
	return h.send(r, offset, limit)
}

// send sends bytes that a task may have written, as what no browser takes
// for a page.
func (h *Handler) send(r *rest.Request, offset, limit int64) error {
	p, err := h.find(r)
	if err != nil {
		return err
	}
	defer p.root.Close()
	f, info, err := p.open()
	if err != nil {
		return err
	}
	defer f.Close()
	kind, err := contentType(f, p.name)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(kind, "text/plain") {
		kind = "application/octet-stream"
	}
	size := max(0, info.Size()-offset)
	if limit > 0 {
		size = min(size, limit)
	}
	r.Answer.Header().Set("Content-Type", kind)
	r.Answer.Header().Set("X-Content-Type-Options", "nosniff")
	r.Answer.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	_, _ = io.Copy(r.Answer, io.NewSectionReader(f, offset, size)) // a client that is gone needs no answer
	return nil
}
