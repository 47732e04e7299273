package rawexec

import (
	"maps"
	"os"
	"slices"

	"github.com/ryanuber/go-glob"
)

// environment returns the environment of a process: the task's, sorted, with
// HOME, USER and LOGNAME of its user, and without denied variables. If the job
// sets one of those three to a value that differs from this program's, the
// job's value wins.
func environment(env map[string]string, as *account, denied []string) []string {
	all := map[string]string{}
	maps.Copy(all, env)
	if as != nil {
		for name, value := range map[string]string{"HOME": as.HomeDir, "USER": as.Username, "LOGNAME": as.Username} {
			if have, ok := all[name]; !ok || have == os.Getenv(name) {
				all[name] = value
			}
		}
	}
	list := make([]string, 0, len(all))
	for name, value := range all {
		if !slices.ContainsFunc(denied, func(pattern string) bool { return glob.Glob(pattern, name) }) {
			list = append(list, name+"="+value)
		}
	}
	slices.Sort(list)
	return list
}
