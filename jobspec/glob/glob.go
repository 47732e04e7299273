// Package glob matches the paths of files with patterns.
package glob

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// Check returns an error if a pattern is malformed. Each part between slashes is a
// pattern of [path.Match], or "**", which means any number of directories.
func Check(pattern string) error {
	if strings.TrimSpace(pattern) == "" {
		return errors.New("the pattern is empty")
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return err
		}
	}
	return nil
}

// Match reports whether a path, with slashes, matches a valid pattern. As in a
// shell, a name that begins with a dot matches only a part that does, too.
func Match(pattern, name string) bool {
	return match(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func match(pattern, name []string) bool {
	for i, part := range pattern {
		switch {
		case part == "**" && i == len(pattern)-1:
			return len(name) > i && !hidden(name[i:]...)
		case part == "**":
			for skipped := i; skipped < len(name); skipped++ {
				if match(pattern[i+1:], name[skipped:]) {
					return true
				}
				if hidden(name[skipped]) {
					break
				}
			}
			return false
		case i >= len(name), hidden(name[i]) && !strings.HasPrefix(part, "."):
			return false
		}
		if ok, err := path.Match(part, name[i]); !ok || err != nil {
			return false
		}
	}
	return len(name) == len(pattern)
}

func hidden(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") })
}

// Ignored reports whether a pattern excludes a path, or a directory above it. A
// pattern without a slash is for names in any directory.
func Ignored(pattern, name string) bool {
	pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
	if !strings.Contains(pattern, "/") {
		for part := range strings.SplitSeq(name, "/") {
			if ok, err := path.Match(pattern, part); ok && err == nil {
				return true
			}
		}
		return false
	}
	for ; name != "." && name != "/"; name = path.Dir(name) {
		if Match(pattern, name) {
			return true
		}
	}
	return false
}

// Base splits a pattern into the directory above everything that it can match, and
// the rest. Depth is how many levels of directories below the base may hold matches;
// -1 means any number.
func Base(pattern string) (base, rest string, depth int) {
	parts := strings.Split(path.Clean(pattern), "/")
	i := 0
	for i < len(parts)-1 && !strings.ContainsAny(parts[i], `*?[\`) {
		i++
	}
	switch base = strings.Join(parts[:i], "/"); {
	case base == "" && parts[0] == "" && len(parts) > 1:
		base = "/"
	case base == "":
		base = "."
	}
	rest, depth = strings.Join(parts[i:], "/"), len(parts)-i-1
	if slices.Contains(parts[i:], "**") {
		depth = -1
	}
	return base, rest, depth
}
