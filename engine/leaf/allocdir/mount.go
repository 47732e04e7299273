package allocdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mountsIn returns the mount points below dir, as relative paths. It finds none
// on a system without /proc/self/mountinfo.
func mountsIn(dir string) ([]string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return findMounts(string(table), dir), nil
}

// findMounts parses the fifth field of each line in a mountinfo table
// (proc_pid_mountinfo(5)).
func findMounts(table, dir string) []string {
	var mounts []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if inside, ok := strings.CutPrefix(unescapeMount(fields[4]), dir+"/"); ok {
			mounts = append(mounts, inside)
		}
	}
	return mounts
}

// mountsBelow returns the mount points below a directory, as relative paths.
func mountsBelow(mounts []string, dir string) []string {
	var below []string
	for _, m := range mounts {
		if inside, ok := strings.CutPrefix(m, dir+"/"); ok {
			below = append(below, inside)
		}
	}
	return below
}

// unescapeMount decodes the octal escapes of blanks and backslashes.
func unescapeMount(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+4 > len(s) {
			return b.String() + s
		}
		b.WriteString(s[:i])
		if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
			b.WriteByte(byte(c))
		} else {
			b.WriteString(s[i : i+4])
		}
		s = s[i+4:]
	}
}
