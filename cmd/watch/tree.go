package watch

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"taskrun/jobspec/glob"
)

// Tree is the files below a directory that match patterns.
type Tree struct {
	dir     string // absolute, without symbolic links
	pattern string
	depth   int // levels of directories below dir; -1: any number
	from    string
	ignore  []string
	except  string // a directory that is not part of the tree
}

// NewTrees returns the files that match patterns, relative to an absolute directory,
// but not ignored ones and those below another directory.
func NewTrees(from string, patterns, ignore []string, except string) (trees []Tree) {
	from, except = resolved(from), resolved(except)
	for _, p := range patterns {
		base, rest, depth := glob.Base(filepath.ToSlash(p))
		dir := filepath.FromSlash(base)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(from, dir)
		}
		trees = append(trees, Tree{dir: resolved(dir), pattern: rest, depth: depth, from: from, ignore: ignore, except: except})
	}
	return trees
}

// resolved returns a path without symbolic links, if it exists.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// holds reports whether a file is part of the tree.
func (t *Tree) holds(path string) bool {
	rel, ok := below(t.dir, path)
	return ok && rel != "." && glob.Match(t.pattern, filepath.ToSlash(rel)) && !t.ignores(path)
}

// enters reports whether a directory is, or may hold, part of the tree.
func (t *Tree) enters(dir string) bool {
	rel, ok := below(t.dir, dir)
	switch {
	case !ok:
		return false
	case dir == t.except:
		return false
	case rel == ".":
		return true
	case t.depth >= 0 && strings.Count(rel, string(filepath.Separator)) >= t.depth:
		return false
	case strings.HasPrefix(filepath.Base(dir), ".") && !strings.Contains("/"+t.pattern, "/."): // no pattern matches anything in it
		return false
	}
	return !t.ignores(dir)
}

func (t *Tree) ignores(path string) bool {
	if _, own := below(t.except, path); own && t.except != "" {
		return true
	}
	rel, ok := below(t.from, path)
	if !ok {
		rel, _ = below(t.dir, path)
	}
	return slices.ContainsFunc(t.ignore, func(pattern string) bool { return glob.Ignored(pattern, filepath.ToSlash(rel)) })
}

// walk calls f with each directory of the tree at or below a path, and each of its
// files there, until f returns false. It skips unreadable directories.
func (t *Tree) walk(from string, f func(path string, entry fs.DirEntry) bool) {
	_ = filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && entry != nil && entry.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case entry.IsDir() && !t.enters(path):
			return fs.SkipDir
		case !entry.IsDir() && !t.holds(path):
			return nil
		case !f(path, entry):
			return fs.SkipAll
		}
		return nil
	})
}

// below returns the path relative to a directory, if it lies there.
func below(dir, path string) (rel string, ok bool) {
	switch rest, under := strings.CutPrefix(path, dir); {
	case path == dir:
		return ".", true
	case dir == "/":
		return strings.TrimPrefix(path, "/"), true
	case under && strings.HasPrefix(rest, string(filepath.Separator)):
		return rest[1:], true
	}
	return "", false
}
