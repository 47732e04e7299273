package validate

import (
	"path"
	"strings"
)

// leavesAllocation reports whether name, taken from a directory of the
// allocation, lies outside of it. Only the text is looked at, as a server does.
func leavesAllocation(from, name string) bool {
	clean := path.Clean(from + "/" + name)
	return clean == ".." || strings.HasPrefix(clean, "../")
}

// leavesTask reports whether name, taken from the directory of a task, is neither
// in that directory nor in the one that all tasks share, where a client stops it.
// What is known only at run time passes.
func leavesTask(task, name string) bool {
	if strings.Contains(name, "${") {
		return false
	}
	top, _, _ := strings.Cut(path.Clean(task+"/"+name), "/")
	return top != task && top != "alloc"
}
