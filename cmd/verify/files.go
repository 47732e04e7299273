package verify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/compare"
	"taskrun/cmd/report/scrub"
)

// Limits of the files that are compared of an allocation.
const (
	maxFiles = 500
	maxDepth = 8
)

// files adds the outputs of the tasks, and the files in the directory of an
// allocation that every task can read.
func (c *collector) files(ctx context.Context, id string, a *compare.Alloc) {
	alloc, err := c.info(ctx, id)
	if err != nil {
		return
	}
	own := ownWords(alloc)
	for name, t := range a.Tasks {
		for _, stream := range streams {
			text, ok := c.read(ctx, alloc, "alloc/logs/"+name+"."+stream+".0", maxFile)
			if ok {
				t.Values[compare.Key{Kind: compare.Output, Name: stream}] = c.clean(own, text)
			}
		}
	}
	w := walker{collector: c, alloc: alloc, own: own, values: a.Values}
	for _, dir := range append([]string{"alloc"}, slices.Sorted(maps.Keys(a.Tasks))...) {
		w.walk(ctx, dir, 0)
	}
}

// unread are directories whose files are not compared: no API reads secrets, and
// outputs are compared by themselves.
var unread = []string{"secrets", "private", "alloc/logs"}

type walker struct {
	*collector
	alloc  *api.Allocation
	own    *strings.Replacer
	values map[compare.Key]string
	found  int
}

func (w *walker) walk(ctx context.Context, dir string, depth int) {
	list, _, err := w.Server.API.AllocFS().List(w.alloc, dir, w.query(ctx))
	if err != nil {
		return
	}
	slices.SortFunc(list, func(a, b *api.AllocFileInfo) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range list {
		at := path.Join(dir, f.Name)
		if depth == 0 && (slices.Contains(unread, at) || slices.Contains(unread, f.Name)) {
			continue
		}
		if w.found++; w.found > maxFiles {
			return
		}
		key := compare.Key{Kind: compare.File, Name: scrub.IDs(at)}
		switch {
		case !f.IsDir:
			w.values[key] = w.describe(ctx, at, f)
		case depth < maxDepth:
			w.values[key] = f.FileMode
			w.walk(ctx, at, depth+1)
		}
	}
}

// describe describes a file: its mode, and its text if that is short.
func (w *walker) describe(ctx context.Context, at string, f *api.AllocFileInfo) string {
	if !strings.HasPrefix(f.FileMode, "-") { // a link, or a device
		return f.FileMode
	}
	if f.Size <= maxFile {
		if text, ok := w.read(ctx, w.alloc, at, maxFile); ok && isText(text) {
			return f.FileMode + "\n" + w.clean(w.own, text)
		}
	}
	return fmt.Sprintf("%s, %d bytes", f.FileMode, f.Size)
}

func isText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }

// clean returns a text as it is compared: without secrets, and without what differs
// from run to run.
func (c *collector) clean(own *strings.Replacer, text []byte) string {
	whole := c.Hide.Text(strings.ToValidUTF8(string(text), "�")) // a secret may have several lines
	lines := strings.Split(strings.TrimSuffix(whole, "\n"), "\n")
	for i, line := range lines {
		lines[i] = own.Replace(scrub.Text(accessTime().ReplaceAllString(line, "[TIME]")))
	}
	return strings.Join(lines, "\n")
}

// accessTime matches the times of access logs.
var accessTime = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[\d\d/[A-Z][a-z]{2}/\d{4}[: ]\d\d:\d\d:\d\d( [+-]\d{4})?\]`)
})

// read reads the beginning of a file, unless it does not exist.
func (c *collector) read(ctx context.Context, alloc *api.Allocation, path string, limit int64) ([]byte, bool) {
	if _, _, err := c.Server.API.AllocFS().Stat(alloc, path, c.query(ctx)); err != nil {
		return nil, false // Nomad's answer to Cat would be 200, with the error as text
	}
	f, err := c.Server.API.AllocFS().Cat(alloc, path, c.query(ctx))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit))
	return text, err == nil
}
