package verify

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// missingGroups returns where an agent of root would make control groups for all
// its tasks, which it leaves behind. Those that exist belong to another agent.
func missingGroups() (missing []string) {
	roots, _ := filepath.Glob("/sys/fs/cgroup/*") // the pattern is valid
	for _, group := range append(inEach(roots, "nomad"), "/sys/fs/cgroup/nomad.slice") {
		if _, err := os.Lstat(group); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, group)
		}
	}
	return missing
}

func inEach(dirs []string, name string) (paths []string) {
	for _, dir := range dirs {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// removeGroups removes control groups without processes. Others stay.
func removeGroups(groups []string) {
	for _, group := range groups {
		var dirs []string
		_ = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) { // the inner ones first
			_ = os.Remove(dir) // fails while it has processes
		}
	}
}
