package rawexec

import (
	"os"
	"slices"
	"strings"
)

// environment returns the environment of a process: the task's, sorted, with
// HOME, USER and LOGNAME of the user it runs as, and without what is denied.
// Those three are the job's when they differ from what this program was given.
func environment(env map[string]string, as *account, denied []string) []string {
	all := make(map[string]string, len(env)+3)
	for name, value := range env {
		all[name] = value
	}
	if as != nil {
		for name, value := range as.env() {
			if have, ok := all[name]; !ok || have == os.Getenv(name) {
				all[name] = value
			}
		}
	}
	list := make([]string, 0, len(all))
	for name, value := range all {
		if !slices.ContainsFunc(denied, func(pattern string) bool { return matches(pattern, name) }) {
			list = append(list, name+"="+value)
		}
	}
	slices.Sort(list)
	return list
}

// matches reports whether a name matches a glob pattern, in which * stands for
// any text and nothing else is special.
func matches(pattern, name string) bool {
	first, rest, glob := strings.Cut(pattern, "*")
	if !glob {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, more, glob := strings.Cut(rest, "*")
		if !glob {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}
