// Package allocdir makes the directories of an allocation, and what is beside them:
//
//	<alloc ID>/
//	    alloc/{data,logs,tmp}                    shared by the tasks
//	    <task>/{local,tmp,secrets,private}       of one task
//	.staging-<alloc ID>/   the engine's, see Staging
//	.times-<alloc ID>/     the engine's, see TimesOf
//
// The names are Nomad's (https://developer.hashicorp.com/nomad/docs/concepts/filesystem),
// and the modes as far as that is safe: modes.go has the whole table.
//
// # Hostile tasks and users
//
// Everyone but root and the user who runs taskrun is an adversary: other local
// users, and tasks that run as another user. Nobody else can replace the directory
// above (package datadir checks that). Below, a [Dir] owns the descriptors. It opens
// what the engine uses before the first task that could replace it, and refuses links
// and FIFOs in the place of a directory.
//
// These races remain between a check and the use of what was checked:
//
//   - A task's user may change what is below its own directories at any time,
//     also while the engine works there: os.Root keeps the engine inside the
//     task's directory, but which file of the task it meets there is up to the
//     task.
//   - A command is looked for, and then started, by its path. Only its user,
//     root and the user who runs taskrun can change what is there meanwhile.
//   - On a file system without ACLs the user of all tasks owns the directory of
//     the allocation. It can replace what is in it, alloc/logs too: the engine
//     goes on with what it had opened, and an engine that takes up the run
//     refuses a directory that is not its own.
//   - A volume that taskrun.hcl gives a folder is used by its path.
//   - Whether nobody else can enter a directory is read from its mode and ACL; a
//     process that has it open from before is not seen.
package allocdir

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"taskrun/engine/leaf/safedir"
)

// Dir is the directory of an allocation. It holds descriptors of itself, of the
// logs and of each task's directory. A descriptor is opened once, before the
// first task that could replace the directory, and stays open until Close. Its
// methods are safe for concurrent use.
type Dir struct {
	path string

	mu      sync.Mutex
	closed  bool
	open    map[string]*os.Root // by relative path; "" is the allocation itself
	gateUID int                 // owner of the directory; known once it is open
	guarded bool                // see modes.go; known once alloc is open
}

// At returns the directory of an allocation. It opens nothing yet.
func At(path string) *Dir {
	return &Dir{path: path, open: map[string]*os.Root{}, gateUID: os.Geteuid()}
}

// Path returns the path of the directory, for messages and for the environment
// of tasks. Do not use it to open files.
func (d *Dir) Path() string { return d.path }

// Alloc returns the directory of the allocation. It stays open until Close; do
// not close it.
func (d *Dir) Alloc() (*os.Root, error) { return d.get("") }

// Logs returns the directory of the tasks' output. It stays open until Close; do
// not close it.
func (d *Dir) Logs() (*os.Root, error) { return d.get(logs) }

// Task returns the directory of a task. It stays open until Close; do not close
// it.
func (d *Dir) Task(task string) (*os.Root, error) {
	if err := checkTask(task); err != nil {
		return nil, err
	}
	return d.get(task)
}

// Secrets opens the directory of a task's secrets. The caller closes it.
func (d *Dir) Secrets(task string) (*os.Root, error) {
	dir, err := d.Task(task)
	if err != nil {
		return nil, err
	}
	root, _, err := safedir.Open(dir, "secrets")
	if err != nil {
		return nil, fmt.Errorf("cannot open directory %q: %w", filepath.Join(d.path, task, "secrets"), err)
	}
	return root, nil
}

// Place returns the directory that a path of the allocation must not leave, and
// the relative path in it: a task can write only to its own directory and to
// the shared one, and no link leads from one to the other. The directory stays
// open until Close; do not close it.
func (d *Dir) Place(path string) (dir *os.Root, rest string, err error) {
	name, rest, _ := strings.Cut(filepath.Clean(path), "/")
	if !safedir.IsName(name) {
		return nil, "", fmt.Errorf("%q is not in the directory of a task or in the shared directory", path)
	}
	dir, err = d.get(name)
	return dir, cmp.Or(rest, "."), err
}

// Close closes the descriptors. Nothing can be opened afterwards. Closing twice
// is a no-op.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	var errs []error
	for name, root := range d.open {
		errs = append(errs, root.Close())
		delete(d.open, name)
	}
	return errors.Join(errs...)
}

func (d *Dir) get(name string) (*os.Root, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.getLocked(name)
}

func (d *Dir) getLocked(name string) (*os.Root, error) {
	if d.closed {
		return nil, d.errClosed(name)
	}
	if root := d.open[name]; root != nil {
		return root, nil
	}
	root, err := d.openLocked(name)
	if err != nil {
		return nil, fmt.Errorf("cannot open directory %q: %w", filepath.Join(d.path, name), err)
	}
	d.open[name] = root
	return root, nil
}

func (d *Dir) errClosed(name string) error {
	return fmt.Errorf("cannot open directory %q: %w", filepath.Join(d.path, name), os.ErrClosed)
}

func (d *Dir) openLocked(name string) (*os.Root, error) {
	if name == "" {
		parent, err := os.OpenRoot(filepath.Dir(d.path))
		if err != nil {
			return nil, err
		}
		defer parent.Close()
		root, info, err := safedir.Open(parent, filepath.Base(d.path))
		if err == nil {
			d.gateUID = safedir.UIDOf(info)
		}
		return root, err
	}
	above, base := filepath.Split(name)
	parent, err := d.getLocked(strings.TrimSuffix(above, "/"))
	if err != nil {
		return nil, err
	}
	root, info, err := safedir.Open(parent, base)
	if err != nil {
		return nil, err
	}
	if name == sharedEntry.name || name == logs { // otherwise a task has replaced it; see admitAlone
		if uid := safedir.UIDOf(info); uid != 0 && uid != os.Geteuid() {
			return nil, errors.Join(fmt.Errorf("it belongs to another user (uid %d)", uid), root.Close())
		}
	}
	if name == sharedEntry.name {
		d.guarded = info.Mode()&sticky != 0
	}
	return root, nil
}

func checkTask(task string) error {
	if !safedir.IsName(task) || task == sharedEntry.name {
		return fmt.Errorf("cannot make the directories of task %q: no task can have that name", task)
	}
	return nil
}

// Shared are the paths of the directories shared by the tasks of an allocation.
type Shared struct {
	Dir  string // <alloc>/alloc, NOMAD_ALLOC_DIR
	Logs string
}

// SharedOf returns the shared directories of an allocation.
func SharedOf(allocDir string) Shared {
	dir := filepath.Join(allocDir, "alloc")
	return Shared{
		Dir:  dir,
		Logs: filepath.Join(dir, "logs"),
	}
}

// Task are the paths of the directories of a task.
type Task struct {
	Dir     string // <alloc>/<task>, the default working directory
	Local   string // NOMAD_TASK_DIR
	Secrets string // NOMAD_SECRETS_DIR
	Private string
}

// TaskOf returns the directories of a task.
func TaskOf(allocDir, task string) Task {
	dir := filepath.Join(allocDir, task)
	return Task{
		Dir:     dir,
		Local:   filepath.Join(dir, "local"),
		Secrets: filepath.Join(dir, "secrets"),
		Private: filepath.Join(dir, "private"),
	}
}
