package verify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/compare"
	"taskrun/cmd/report/scrub"
)

// Limits of the files that are compared of an allocation.
const (
	maxFiles = 500
	maxDepth = 8
	maxFile  = 64 << 10 // of larger ones, the size is compared
)

// files adds the outputs of the tasks, and the files in the directory of an
// allocation that every task can read.
func (c *collector) files(ctx context.Context, id string, a *compare.Alloc) {
	alloc, err := c.info(ctx, id)
	if err != nil {
		return
	}
	for name, t := range a.Tasks {
		for _, stream := range []string{"stdout", "stderr"} {
			text, ok := c.read(ctx, alloc, "alloc/logs/"+name+"."+stream+".0", maxFile)
			if ok {
				t.Values[compare.Key{Kind: compare.Output, Name: stream}] = c.clean(text)
			}
		}
	}
	found := 0
	for _, dir := range append([]string{"alloc"}, taskNames(a)...) {
		c.walk(ctx, alloc, dir, 0, &found, a.Values)
	}
}

func taskNames(a *compare.Alloc) (names []string) {
	for name := range a.Tasks {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unread are directories whose files are not compared: no API reads secrets, and
// outputs are compared by themselves.
var unread = []string{"secrets", "private", "alloc/logs"}

// walk adds the files below a directory.
func (c *collector) walk(ctx context.Context, alloc *api.Allocation, dir string, depth int, found *int, values map[compare.Key]string) {
	list, _, err := c.Server.API.AllocFS().List(alloc, dir, c.query(ctx))
	if err != nil {
		return
	}
	slices.SortFunc(list, func(a, b *api.AllocFileInfo) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range list {
		if *found++; *found > maxFiles {
			return
		}
		at := path.Join(dir, f.Name)
		key := compare.Key{Kind: compare.File, Name: scrub.IDs(at)}
		switch {
		case !f.IsDir:
			values[key] = c.describe(ctx, alloc, at, f)
		case depth == 0 && slices.ContainsFunc(unread, func(dir string) bool { return at == dir || f.Name == dir && depth == 0 }):
		case depth < maxDepth:
			values[key] = f.FileMode
			c.walk(ctx, alloc, at, depth+1, found, values)
		}
	}
}

// describe describes a file: its mode, and its text if that is short.
func (c *collector) describe(ctx context.Context, alloc *api.Allocation, at string, f *api.AllocFileInfo) string {
	if !strings.HasPrefix(f.FileMode, "-") { // a link, or a device
		return f.FileMode
	}
	if f.Size <= maxFile {
		if text, ok := c.read(ctx, alloc, at, maxFile); ok && isText(text) {
			return f.FileMode + "\n" + c.clean(text)
		}
	}
	return fmt.Sprintf("%s, %d bytes", f.FileMode, f.Size)
}

func isText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }

// clean returns a text as it is compared: without secrets, and without what differs
// from run to run.
func (c *collector) clean(text []byte) string {
	lines := strings.Split(strings.TrimSuffix(strings.ToValidUTF8(string(text), "�"), "\n"), "\n")
	for i, line := range lines {
		lines[i] = scrub.Text(c.Hide.Text(line))
	}
	return strings.Join(lines, "\n")
}

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

func (c *collector) query(ctx context.Context) *api.QueryOptions {
	return (&api.QueryOptions{Namespace: *c.Job.Namespace}).WithContext(ctx)
}
