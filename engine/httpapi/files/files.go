// Package files serves the files of allocations and the output of tasks.
package files

import (
	"cmp"
	"errors"
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

// Handler serves the files of an engine's allocations.
type Handler struct {
	engine  Engine
	watches watches
}

// New returns a handler.
func New(e Engine) *Handler { return &Handler{engine: e} }

// maxEntries limits the listed entries of a directory: a task may create any
// number.
const maxEntries = 50_000

// sniffed is how much of a file is used to guess its type, in bytes.
const sniffed = 512

// fileInfo describes a file to clients.
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

// find finds the file that a request names. It reaches nothing outside of the
// allocation directory, and no directory of secrets. The caller must close the
// place.
func (h *Handler) find(r *rest.Request) (*place, error) {
	a, ok := h.engine.Alloc(r.ID)
	if !ok {
		return nil, rest.UnknownAlloc(r.ID)
	}
	name := cmp.Or(strings.TrimLeft(r.Query.Get("path"), "/"), ".")
	if !filepath.IsLocal(name) {
		return nil, errEscapes
	}
	p, err := walkTo(a.Dir, name)
	if err != nil {
		return nil, err
	}
	if p.secret() {
		return nil, errors.Join(rest.Fail(http.StatusForbidden, "Reading secret file prohibited: %s", name), p.Close())
	}
	return p, nil
}

// List answers GET /v1/client/fs/ls/:id.
func (h *Handler) List(r *rest.Request) (any, error) {
	p, err := h.find(r)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	entries, err := p.entries()
	if err != nil {
		return nil, err
	}
	list := []fileInfo{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // otherwise it was removed
			list = append(list, newFileInfo(info))
		}
	}
	return list, nil
}

// entries returns the entries of a directory, sorted by name.
func (p *place) entries() ([]fs.DirEntry, error) {
	if !p.info.IsDir() {
		return nil, fileError("readdir", p.name, syscall.ENOTDIR)
	}
	dir, _, err := p.openFile()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxEntries + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fileError("readdir", p.name, err)
	case len(entries) > maxEntries:
		return nil, rest.Fail(http.StatusBadRequest, "directory %s has more than %d entries", p.name, maxEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Stat answers GET /v1/client/fs/stat/:id.
func (h *Handler) Stat(r *rest.Request) (any, error) {
	if r.Query.Get("path") == "" {
		return nil, rest.Fail(http.StatusBadRequest, "must provide a file name")
	}
	p, err := h.find(r)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	answer := newFileInfo(p.info)
	answer.ContentType = "application/octet-stream" // as in Nomad, also for directories
	if p.info.Mode().IsRegular() {
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

// contentType returns the type of a file from its name or its first bytes.
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
func (h *Handler) Cat(r *rest.Request) error { return h.sendPart(r, 0, 0) }

// ReadAt answers GET /v1/client/fs/readat/:id with a part of the file. A limit
// of 0 or less means the rest.
func (h *Handler) ReadAt(r *rest.Request) error {
	offset, err := strconv.ParseInt(r.Query.Get("offset"), 10, 64)
	if err != nil || offset < 0 {
		return rest.Fail(http.StatusBadRequest, "error parsing offset: %q is not a number of bytes", r.Query.Get("offset"))
	}
	limit, err := r.Number("limit")
	if err != nil {
		return err
	}
	return h.sendPart(r, offset, limit)
}

// sendPart sends bytes that a task may have written, with headers that keep
// browsers from showing them as a page.
func (h *Handler) sendPart(r *rest.Request, offset, limit int64) error {
	p, err := h.find(r)
	if err != nil {
		return err
	}
	defer p.Close()
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
	_, _ = io.Copy(r.Answer, io.NewSectionReader(f, offset, size)) // ignore clients that are gone
	return nil
}
