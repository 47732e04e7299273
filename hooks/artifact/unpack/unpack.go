// Package unpack unpacks untrusted archives. It writes nothing outside of the
// given directory, creates only files, directories and links, and counts the
// bytes that it writes, because an archive may state wrong sizes. Links are
// created as they are: the caller checks where they lead.
package unpack

import (
	"context"
	"fmt"
	"os"
)

// Dir unpacks an archive into a new directory, name in root.
func Dir(ctx context.Context, kind string, packed *os.File, root *os.Root, name string, limits Limits) error {
	if err := root.Mkdir(name, 0o755); err != nil {
		return err
	}
	into, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = into.Close() }()
	w := &writer{ctx: ctx, root: into, limits: limits, left: limits.Size}
	return w.explain(w.unpack(kind, packed))
}

// File unpacks the only file in an archive to name in root.
func File(ctx context.Context, kind string, packed *os.File, root *os.Root, name string, limits Limits) error {
	w := &writer{ctx: ctx, root: root, limits: limits, left: limits.Size, single: name}
	return w.explain(w.unpack(kind, packed))
}

func (w *writer) unpack(kind string, packed *os.File) error {
	if kind == "zip" {
		return w.zip(packed)
	}
	text, release, err := decompress(kind, reader{w.ctx, packed})
	if err != nil {
		return err
	}
	defer release()
	switch {
	case !Single(kind):
		return w.tar(text)
	case w.single == "":
		return fmt.Errorf("a %s file holds a single file, not a directory", kind)
	}
	return w.file(w.single, 0o644, text)
}

func (w *writer) explain(err error) error {
	switch {
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx)
	case err != nil:
		return fmt.Errorf("cannot unpack it: %w", err)
	}
	return nil
}
