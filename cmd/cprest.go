package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"taskrun/cmd/client"
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

// openAtRest opens the directory of a task's allocation on this machine.
func (a *app) openAtRest(ctx context.Context, t *client.Task, dataDir string) (*os.Root, error) {
	runs, err := a.runsOf(ctx, t, dataDir)
	for _, r := range runs {
		root, openErr := os.OpenRoot(filepath.Join(r.Dir, "alloc", t.Alloc.ID))
		if openErr == nil {
			return root, nil
		}
		if !errors.Is(openErr, fs.ErrNotExist) {
			err = openErr
		}
	}
	return nil, cmp.Or(err, errors.New("the directory of its allocation was removed"))
}
