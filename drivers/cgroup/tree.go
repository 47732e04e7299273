package cgroup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Tree contains the groups of this run.
type Tree struct {
	hierarchies []hierarchy // one for version 2; the first has the memory controller
	version2    bool
	given       string // this program's own group, if the tree is in it

	making sync.RWMutex // read-locked while a group is created, so that the tree is not removed
}

// shared is the only tree of this program, which several drivers use.
var shared struct {
	sync.Mutex
	tree  *Tree
	users int
}

// hierarchy is the directory of this run in a hierarchy.
type hierarchy struct {
	controller string // of version 1
	dir        string
	lock       *os.File
}

// top is the parent group of root's runs.
const top = "taskrun"

// Directories: one for each run and, with version 2, one for this program.
const (
	runPrefix = "taskrun-run-"
	engineDir = "taskrun-engine"
)

const hint = "run taskrun in its own cgroup: systemd-run --user --scope -p Delegate=yes taskrun up …"

// Open returns the tree of this program, in which memory can be limited. Each
// Open needs a Close. The error says what this machine lacks.
func Open() (*Tree, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.users == 0 {
		tree, err := openHere()
		if err != nil {
			return nil, err
		}
		shared.tree = tree
	}
	shared.users++
	return shared.tree, nil
}

// Close removes the tree after the last Close. Its groups must have been
// removed.
func (t *Tree) Close() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.users--; shared.users > 0 {
		return nil
	}
	return t.remove()
}

func openHere() (*Tree, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, errors.New("there are no cgroups: they need Linux, and /proc")
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("there are no cgroups: %w", err)
	}
	return open(parseMounts(string(mountinfo)), string(self))
}

func open(mounts []mount, self string) (*Tree, error) {
	if _, ok := version1(mounts, memory); ok {
		return openVersion1(mounts)
	}
	dir, own, ok := version2(mounts, self)
	if !ok {
		return nil, errors.New("no cgroup file system is mounted that has this program and a memory controller")
	}
	isRoot := !exists(filepath.Join(dir, "cgroup.type")) // the system's root group is the only one without a type
	if has(dir, "cgroup.subtree_control", memory) && os.Geteuid() == 0 && isRoot {
		return openTop(dir)
	}
	return openGiven(own)
}

func openVersion1(mounts []mount) (*Tree, error) {
	t := &Tree{}
	for _, controller := range []string{memory, cpu, freezer} {
		dir, ok := version1(mounts, controller)
		if !ok {
			continue
		}
		// Several controllers may share a hierarchy.
		if slices.ContainsFunc(t.hierarchies, func(h hierarchy) bool { return filepath.Dir(filepath.Dir(h.dir)) == dir }) {
			continue
		}
		if err := t.add(controller, filepath.Join(dir, top)); err != nil && controller == memory { // the others are optional
			return nil, fmt.Errorf("%w (cgroups of version 1, which this machine has, can be used by root only)", err)
		}
	}
	return t, nil
}

// openTop creates a tree for root, next to other groups.
func openTop(dir string) (*Tree, error) {
	return (&Tree{version2: true}).begin(filepath.Join(dir, top))
}

// openGiven creates a tree in this program's own group, from systemd or a
// container. Groups with limits must not contain this program, so it moves into
// another one.
func openGiven(own string) (*Tree, error) {
	if !has(own, "cgroup.controllers", memory) {
		return nil, fmt.Errorf("the memory controller cannot be used in cgroup %q: %s", own, hint)
	}
	self := strconv.Itoa(os.Getpid())
	if others := slices.DeleteFunc(words(own, "cgroup.procs"), func(pid string) bool { return pid == self }); len(others) > 0 {
		return nil, fmt.Errorf("cgroup %q is not taskrun's alone, it has process %s: %s", own, others[0], hint)
	}
	t := &Tree{version2: true, given: own}
	engine := filepath.Join(own, engineDir)
	if err := os.Mkdir(engine, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("cannot make a cgroup: %w: %s", err, hint)
	}
	if err := write(engine, "cgroup.procs", self); err != nil {
		return nil, errors.Join(err, os.Remove(engine))
	}
	return t.begin(own)
}

// begin creates the run's directory in a group of version 2.
func (t *Tree) begin(base string) (*Tree, error) {
	err := t.add("", base)
	if err == nil {
		err = enable(base)
	}
	if err == nil {
		err = enable(t.hierarchies[0].dir)
	}
	if err != nil {
		return nil, errors.Join(err, t.remove())
	}
	return t, nil
}

// enable enables controllers for the groups in a group. Without a CPU
// controller there are no weights.
func enable(dir string) error {
	_ = write(dir, "cgroup.subtree_control", "+"+cpu)
	return write(dir, "cgroup.subtree_control", "+"+memory)
}

// add creates and locks the directory of the run in a group, and removes those
// of killed runs. Until it is locked, another run may mistake it for one of
// those.
func (t *Tree) add(controller, base string) error {
	sweep(base)
	for range 10 {
		if err := os.MkdirAll(base, 0o755); err != nil {
			return fmt.Errorf("cannot make a cgroup: %w", err)
		}
		dir := filepath.Join(base, runPrefix+strconv.Itoa(os.Getpid())+"-"+rand.Text()[:8])
		if err := os.Mkdir(dir, 0o755); errors.Is(err, os.ErrNotExist) {
			continue // another run has just removed base
		} else if err != nil {
			return fmt.Errorf("cannot make a cgroup: %w", err)
		}
		if lock, err := lockDir(dir); err == nil {
			t.hierarchies = append(t.hierarchies, hierarchy{controller, dir, lock})
			return nil
		}
	}
	return fmt.Errorf("cannot make a cgroup in %q: another process removes it immediately", base)
}

// lockDir locks a directory without blocking. The lock ends with the program.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = os.Stat(dir) // it may have been removed
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweep removes the directories of killed runs. Groups with processes cannot be
// removed.
func sweep(base string) {
	entries, _ := os.ReadDir(base)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), runPrefix) {
			continue
		}
		dir := filepath.Join(base, e.Name())
		lock, err := lockDir(dir)
		if err != nil {
			continue // the run is alive
		}
		groups, _ := os.ReadDir(dir)
		for _, g := range groups {
			if g.IsDir() {
				_ = os.Remove(filepath.Join(dir, g.Name()))
			}
		}
		_ = os.Remove(dir)
		lock.Close()
	}
}

func (t *Tree) remove() (err error) {
	t.making.Lock()
	defer t.making.Unlock()
	for _, h := range t.hierarchies {
		if failure := os.Remove(h.dir); failure != nil && !errors.Is(failure, os.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("cannot remove a cgroup: %w", failure))
		}
		h.lock.Close()
		if base := filepath.Dir(h.dir); filepath.Base(base) == top {
			_ = os.Remove(base) // fails while other runs are in it
		}
	}
	t.hierarchies = nil
	if t.given != "" {
		err = errors.Join(err, t.moveBack())
		t.given = ""
	}
	return err
}

// moveBack undoes what openGiven did.
func (t *Tree) moveBack() error {
	for _, controller := range []string{cpu, memory} {
		if has(t.given, "cgroup.subtree_control", controller) {
			if err := write(t.given, "cgroup.subtree_control", "-"+controller); err != nil {
				return err
			}
		}
	}
	engine := filepath.Join(t.given, engineDir)
	for _, pid := range words(engine, "cgroup.procs") {
		if err := write(t.given, "cgroup.procs", pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return os.Remove(engine)
}
