package play

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/safedir"
)

// maxFile is the size of the largest file that is read, in bytes, and maxSecrets how
// many files of a task's secrets are kept.
const (
	maxFile    = 64 << 20
	maxSecrets = 100
)

// files are those of allocations. Secrets are removed when an allocation ends, so
// they are read while it runs; the rest is read when it is asked for.
type files struct {
	dirs    map[string]string            // by ID of the allocation
	secrets map[string]map[string][]byte // likewise, and then by path
}

func filesOf(allocs []engine.Alloc) *files {
	f := &files{map[string]string{}, map[string]map[string][]byte{}}
	for _, a := range allocs {
		f.dirs[a.ID] = a.Dir
		if a.Status == api.AllocClientStatusRunning || a.Status == api.AllocClientStatusPending {
			f.secrets[a.ID] = secretsOf(a)
		}
	}
	return f
}

// secretsOf reads the secrets of an allocation. It skips files that cannot be read.
func secretsOf(a engine.Alloc) map[string][]byte {
	found := map[string][]byte{}
	dir := allocdir.At(a.Dir)
	defer func() { _ = dir.Close() }()
	for task := range a.Tasks {
		root, err := dir.Secrets(task)
		if err != nil {
			continue
		}
		kept := 0
		_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // the others can be read
			}
			if kept++; kept > maxSecrets {
				return fs.SkipAll
			}
			if text, err := safedir.ReadFile(root, name, maxOutput); err == nil {
				found[path.Join(task, "secrets", name)] = text
			}
			return nil
		})
		_ = root.Close()
	}
	return found
}

// read reads a file by the ID of its allocation and its path in the directory of
// that. No link leads out of the directory of the task, or the shared one.
func (f *files) read(alloc, name string) ([]byte, error) {
	if text, ok := f.secrets[alloc][path.Clean(name)]; ok {
		return text, nil
	}
	at, ok := f.dirs[alloc]
	if !ok {
		return nil, fmt.Errorf("there is no directory of allocation %q", alloc)
	}
	dir := allocdir.At(at)
	defer func() { _ = dir.Close() }()
	root, rest, err := dir.Place(name)
	if err != nil {
		return nil, err
	}
	return safedir.ReadFile(root, rest, maxFile)
}
