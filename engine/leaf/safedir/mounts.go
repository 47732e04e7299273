package safedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Mounts are the mount points below a directory, as relative paths, the inner ones
// last.
type Mounts []string

// MountsIn finds the mount points below dir; on a system without
// /proc/self/mountinfo it finds none.
func MountsIn(dir string) (Mounts, error) {
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
func findMounts(table, dir string) (mounts Mounts) {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if inside, ok := strings.CutPrefix(unescapeMount.Replace(fields[4]), dir+"/"); ok {
			mounts = append(mounts, inside)
		}
	}
	return mounts
}

// Below returns those below a directory in that directory.
func (ms Mounts) Below(dir string) (below Mounts) {
	for _, m := range ms {
		if inside, ok := strings.CutPrefix(m, dir+"/"); ok {
			below = append(below, inside)
		}
	}
	return below
}

// unescapeMount decodes the octal escapes of blanks and backslashes.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
