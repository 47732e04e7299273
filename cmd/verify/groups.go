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
	groups := []string{"/sys/fs/cgroup/nomad.slice"}
	roots, _ := filepath.Glob("/sys/fs/cgroup/*") // the pattern is valid
	for _, root := range roots {
		groups = append(groups, filepath.Join(root, "nomad"))
	}
	for _, group := range groups {
		if _, err := os.Lstat(group); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, group)
		}
	}
	return missing
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
