package cmd

import (
	"fmt"
	"path"
	"strings"
)

// inAllocation returns where a path of a task is in the directory of its allocation.
func inAllocation(task, name string) (string, error) {
	clean := strings.TrimPrefix(path.Clean("/"+name), "/")
	switch first, _, _ := strings.Cut(clean, "/"); first {
	case "alloc":
		return clean, nil
	case "local":
		return path.Join(task, clean), nil
	}
	return "", fmt.Errorf("while the task is not running, only local/ and alloc/ can be read, and not %s", name)
}
