package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A directory of a test simulates a hierarchy: files that the kernel would
// create are created when they are written. It cannot show the kernel's own
// behavior; see kernel_linux_test.go for that.

// given returns such a directory of version 2, for a group with these
// processes, and its mounts.
func given(t *testing.T, controllers string, processes ...string) (dir string, mounts []mount) {
	t.Helper()
	dir = t.TempDir()
	fill(t, dir, "cgroup.controllers", controllers)
	fill(t, dir, "cgroup.type", "domain")
	fill(t, dir, "cgroup.procs", strings.Join(processes, "\n"))
	return dir, []mount{{dir: dir, root: "/", version2: true}}
}

func fill(t *testing.T, dir, file, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mustSay checks the last text written to a file.
func mustSay(t *testing.T, dir, file, want string) {
	t.Helper()
	if got := strings.Join(words(dir, file), " "); got != want {
		t.Errorf("%s has %q, not %q", filepath.Join(dir, file), got, want)
	}
}

var self = strconv.Itoa(os.Getpid())

func TestDelegatedGroup(t *testing.T) {
	t.Parallel()
	dir, mounts := given(t, "cpu memory pids", self)
	tree, err := open(mounts, "0::/\n")
	if err != nil {
		t.Fatal(err)
	}
	mustSay(t, filepath.Join(dir, engineDir), "cgroup.procs", self)
	mustSay(t, dir, "cgroup.subtree_control", "+memory")
	g, err := tree.Make("alloc/task/1", Limits{Memory: 32 << 20, Reserved: 16 << 20, CPUShares: 1024})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Dirs()) != 1 || !g.Version2() || !strings.HasPrefix(g.Dirs()[0], dir+"/"+runPrefix) || filepath.Base(g.Dirs()[0]) != "alloc.task.1" {
		t.Errorf("the group is %+v", g)
	}
	run := filepath.Dir(g.Dirs()[0])
	mustSay(t, run, "cgroup.subtree_control", "+memory")
	for file, want := range map[string]string{
		"memory.max": "33554432", "memory.low": "16777216", "memory.swap.max": "0", "cpu.weight": "100",
	} {
		mustSay(t, g.Dirs()[0], file, want)
	}
	fill(t, g.Dirs()[0], "memory.events", "low 0\nmax 7\noom 2\noom_kill 3")
	if n := g.OOMKills(); n != 3 {
		t.Errorf("%d were killed", n)
	}
	if _, err := tree.Make("alloc/task/1", Limits{}); err == nil {
		t.Error("the group could be made twice")
	}
	// While this run is alive, another one leaves its groups alone.
	sweep(dir)
	if !exists(run) {
		t.Error("the groups of a run that lives were removed")
	}
}

func TestUnusableDelegatedGroup(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		controllers string
		processes   []string
	}{
		"the memory controller cannot be used":   {"cpu pids", []string{self}},
		"is not taskrun's alone, it has process": {"memory", []string{self, "1"}},
	} {
		dir, mounts := given(t, c.controllers, c.processes...)
		_, err := open(mounts, "0::/\n")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "systemd-run --user --scope -p Delegate=yes") {
			t.Errorf("the error is %v, not %q", err, want)
		}
		if exists(filepath.Join(dir, engineDir)) {
			t.Error("something was made")
		}
	}
	if _, err := open(nil, "0::/\n"); err == nil || !strings.Contains(err.Error(), "no cgroup file system is mounted") {
		t.Errorf("without any mount the error is %v", err)
	}
}

func TestRootsTop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, dir, "cgroup.subtree_control", "cpu memory")
	tree, err := openTop(dir)
	if err != nil {
		t.Fatal(err)
	}
	g, err := tree.Make("x", Limits{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(g.Dirs()[0], filepath.Join(dir, top, runPrefix)) {
		t.Errorf("the group is %q", g.Dirs())
	}
	mustSay(t, dir, "cgroup.subtree_control", "cpu memory") // this one is not ours
	mustSay(t, filepath.Join(dir, top), "cgroup.subtree_control", "+memory")
}

func TestVersion1Hierarchies(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mounts := []mount{
		{dir: root + "/cpu,cpuacct", controllers: []string{"rw", "cpu", "cpuacct"}},
		{dir: root + "/memory", controllers: []string{"rw", "memory"}},
		{dir: root + "/freezer", controllers: []string{"rw", "freezer"}},
	}
	tree, err := open(mounts, "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := tree.Make("x", Limits{Memory: 1 << 20, Reserved: 1 << 19, CPUShares: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Dirs()) != 3 || g.Version2() {
		t.Fatalf("the group is %+v", g)
	}
	for file, want := range map[string]string{
		"memory.limit_in_bytes": "1048576", "memory.soft_limit_in_bytes": "524288", "memory.swappiness": "0",
	} {
		mustSay(t, g.Dirs()[0], file, want)
	}
	mustSay(t, g.Dirs()[1], "cpu.shares", "2")
	if !strings.HasPrefix(g.Dirs()[2], root+"/freezer/taskrun/") {
		t.Errorf("the group is %q", g.Dirs())
	}
	fill(t, g.Dirs()[0], "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1")
	if n := g.OOMKills(); n != 1 {
		t.Errorf("%d were killed", n)
	}
}

// The remains of a killed run are removed by the next one.
func TestSweep(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	killed := filepath.Join(base, runPrefix+"1-x")
	other := filepath.Join(base, "of-somebody-else")
	for _, dir := range []string{filepath.Join(killed, "one"), filepath.Join(killed, "two"), other} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	busy := filepath.Join(base, runPrefix+"2-x", "busy")
	fill(t, busy, "cgroup.procs", "1") // as the kernel would keep it
	sweep(base)
	if exists(killed) || !exists(other) || !exists(busy) {
		t.Errorf("the killed one is there: %v, the stranger %v, the busy one %v", exists(killed), exists(other), exists(busy))
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mounts := []mount{{dir: root, controllers: []string{"memory"}}}
	one, err := open(mounts, "")
	if err != nil {
		t.Fatal(err)
	}
	two, err := open(mounts, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range []*Tree{one, two} {
		if !exists(filepath.Join(root, top)) {
			t.Error("one run has removed what belongs to all")
		}
		if err := tree.remove(); err != nil {
			t.Error(err)
		}
		if _, err := tree.Make("late", Limits{}); err == nil {
			t.Error("a group was made in a tree that is gone")
		}
	}
	if entries, _ := os.ReadDir(root); len(entries) != 0 {
		t.Errorf("left are %v", entries)
	}
}

// The values are those of Nomad's formula.
func TestWeight(t *testing.T) {
	t.Parallel()
	for shares, want := range map[int]int{0: 1, 2: 1, 3: 2, 100: 17, 500: 58, 1024: 100, 10000: 627, 262143: 10000, 262144: 10000, 1 << 30: 10000} {
		if got := weightOf(shares); got != want {
			t.Errorf("%d shares weigh %d, not %d", shares, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, dir, "cgroup.controllers", "memory")
	g, err := Find([]string{dir})
	if err != nil || !g.Version2() {
		t.Errorf("it is %+v, %v", g, err)
	}
	if _, err := Find([]string{dir, dir + "/gone"}); err == nil {
		t.Error("what is gone was found")
	}
}

// Both controllers are enabled, of which the kernel may lack that of the CPU.
func TestEnable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "cgroup.subtree_control")
	if err := unix.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(file, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := enable(dir); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 100)
	if n, err := pipe.Read(text); err != nil || string(text[:n]) != "+cpu+memory" {
		t.Errorf("%q, %v", text[:n], err)
	}
}

// A locked directory cannot be locked again until it is unlocked or gone.
func TestLockDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := lockDir(dir); again != nil || !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("a second time: %v, %v", again, err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	again, err := lockDir(dir)
	if err != nil || again.Close() != nil {
		t.Errorf("once it is unlocked: %v", err)
	}
	if gone, err := lockDir(filepath.Join(dir, "none")); gone != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is gone: %v, %v", gone, err)
	}
}
