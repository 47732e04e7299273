package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// fails checks an error.
func fails(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, not %q", err, want)
	}
}

// runsIn returns the directories of runs in a group.
func runsIn(t *testing.T, base string) []string {
	t.Helper()
	runs, err := filepath.Glob(filepath.Join(base, runPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// The group that was given is left as it was found.
func TestMoveBack(t *testing.T) {
	t.Parallel()
	for enabled, want := range map[string]string{"cpu": "-cpu", "pids memory": "-memory", "pids": "pids"} {
		dir, mounts := given(t, "memory", self)
		tree, err := open(mounts, "0::/\n")
		if err != nil {
			t.Fatal(err)
		}
		engine := filepath.Join(dir, engineDir)
		fill(t, dir, "cgroup.subtree_control", enabled)
		fill(t, dir, "cgroup.procs", "")
		if err := os.Remove(filepath.Join(tree.hierarchies[0].dir, "cgroup.subtree_control")); err != nil {
			t.Fatal(err)
		}
		// The kernel would remove the files of the group with it.
		if err := tree.remove(); !errors.Is(err, syscall.ENOTEMPTY) || err.Error() != "remove "+engine+": directory not empty" {
			t.Errorf("the error is %v", err)
		}
		mustSay(t, dir, "cgroup.procs", self)
		mustSay(t, dir, "cgroup.subtree_control", want)
		if len(runsIn(t, dir)) != 0 {
			t.Error("the directory of the run is there")
		}
		if err := tree.remove(); err != nil {
			t.Errorf("the second time: %v", err)
		}
	}
}

func TestMoveBackFails(t *testing.T) {
	t.Parallel()
	dir, mounts := given(t, "memory", self)
	tree, err := open(mounts, "0::/\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "cgroup.procs")); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(dir, "cgroup.procs"), "in-the-way", "")
	err = tree.remove()
	fails(t, err, `cannot write "`+self+`" to `+filepath.Join(dir, "cgroup.procs")+": is a directory")
	fails(t, err, "cannot remove a cgroup: remove "+runsIn(t, dir)[0]+": directory not empty")
}

// A run whose directory was removed by others has nothing to remove.
func TestRemoveGone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	tree, err := open([]mount{{dir: root, controllers: []string{"memory"}}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(tree.hierarchies[0].dir); err != nil {
		t.Fatal(err)
	}
	if err := tree.remove(); err != nil {
		t.Error(err)
	}
}

// Only root has a group beside others, in the root group of the system.
func TestWhereTheTreeIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		subtree  string
		typed    bool
		rootsTop bool
	}{
		"the root group":                        {"cpu memory", false, os.Geteuid() == 0},
		"the root group without the controller": {"cpu", false, false},
		"the group of a container":              {"cpu memory", true, false},
	} {
		dir, mounts := given(t, "memory", self)
		fill(t, dir, "cgroup.subtree_control", c.subtree)
		if !c.typed {
			if err := os.Remove(filepath.Join(dir, "cgroup.type")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := open(mounts, "0::/\n"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.rootsTop != (len(runsIn(t, filepath.Join(dir, top))) == 1) || c.rootsTop == (len(runsIn(t, dir)) == 1) || c.rootsTop == exists(filepath.Join(dir, engineDir)) {
			t.Errorf("%s: the tree is elsewhere", name)
		}
	}
}

// A tree that cannot be made leaves nothing.
func TestTreesThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill(t, filepath.Join(dir, top, "cgroup.subtree_control"), "in-the-way", "")
	_, err := openTop(dir)
	fails(t, err, `cannot write "+memory" to `+filepath.Join(dir, top, "cgroup.subtree_control")+": is a directory")
	if left := runsIn(t, filepath.Join(dir, top)); len(left) != 0 {
		t.Errorf("left are %q", left)
	}

	dir = t.TempDir()
	fill(t, dir, top, "a file")
	_, err = openTop(dir)
	fails(t, err, "cannot make a cgroup: mkdir "+filepath.Join(dir, top)+": not a directory")

	dir, mounts := given(t, "memory", self)
	fill(t, dir, engineDir, "a file")
	_, err = open(mounts, "0::/\n")
	fails(t, err, `cannot write "`+self+`" to `+filepath.Join(dir, engineDir, "cgroup.procs")+": not a directory")
	if exists(filepath.Join(dir, engineDir)) || len(runsIn(t, dir)) != 0 {
		t.Error("something was left")
	}
}

// Of the controllers of version 1, only memory is required; several may share
// a hierarchy.
func TestControllersOfVersion1(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	fill(t, root, "file", "")
	for name, c := range map[string]struct {
		mounts []mount
		want   int
		err    string
	}{
		"one hierarchy": {mounts: []mount{{dir: root + "/all", controllers: []string{"memory", "cpu", "freezer"}}}, want: 1},
		"two":           {mounts: []mount{{dir: root + "/a", controllers: []string{"memory"}}, {dir: root + "/b", controllers: []string{"cpu", "freezer"}}}, want: 2},
		"no freezer":    {mounts: []mount{{dir: root + "/a", controllers: []string{"memory"}}, {dir: root + "/file", controllers: []string{"freezer"}}}, want: 1},
		"no memory":     {mounts: []mount{{dir: root + "/file", controllers: []string{"memory"}}}, err: "(cgroups of version 1, which this machine has, can be used by root only)"},
	} {
		tree, err := open(c.mounts, "")
		if c.err != "" {
			fails(t, err, c.err)
		} else if err != nil || len(tree.hierarchies) != c.want {
			t.Errorf("%s: %+v, %v", name, tree, err)
		}
	}
}

// A group that cannot be made leaves nothing.
func TestGroupsThatCannotBe(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	tree, err := open([]mount{{dir: root + "/m", controllers: []string{"memory"}}, {dir: root + "/f", controllers: []string{"freezer"}}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(tree.hierarchies[1].dir); err != nil {
		t.Fatal(err)
	}
	g, err := tree.Make("x", Limits{})
	fails(t, err, "cannot make a cgroup: mkdir "+filepath.Join(tree.hierarchies[1].dir, "x"))
	if g != nil || exists(filepath.Join(tree.hierarchies[0].dir, "x")) {
		t.Errorf("something was left: %+v", g)
	}
	gone := filepath.Join(root, "gone")
	fails(t, (&Group{dirs: []string{gone}}).limit(Limits{Memory: 1}), `cannot write "1" to `+gone+"/memory.limit_in_bytes: no such file or directory")
	if err := (&Group{dirs: []string{gone}}).limit(Limits{Reserved: 1, CPUShares: 1}); err != nil {
		t.Errorf("what is optional failed: %v", err)
	}
}

func TestNoLimits(t *testing.T) {
	t.Parallel()
	dir, mounts := given(t, "memory", self)
	tree, err := open(mounts, "0::/\n")
	if err != nil {
		t.Fatal(err)
	}
	g, err := tree.Make("x", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(g.Dirs()[0]); err != nil || len(entries) != 0 {
		t.Errorf("written was %v, %v", entries, err)
	}
	if n := g.OOMKills(); n != 0 {
		t.Errorf("%d were killed", n)
	}
	fill(t, g.Dirs()[0], "memory.events", "oom_kill")
	if n := g.OOMKills(); n != 0 {
		t.Errorf("%d were killed", n)
	}
	fill(t, dir, "cgroup.procs", "0 nonsense "+self+" 1")
	if pids := (&Group{dirs: []string{dir}}).Processes(); len(pids) != 1 || pids[0] != 1 {
		t.Errorf("the processes are %v", pids)
	}
}

// Kill freezes a group first, unless the kernel can kill it as a whole.
func TestKill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files   []string // that the kernel has made
		blocked string   // a file that cannot be written
		empty   bool     // no process
		says    map[string]string
		err     string
		killed  bool
	}{
		"version 2":             {files: []string{"cgroup.controllers", "cgroup.kill"}, says: map[string]string{"cgroup.kill": "1", "cgroup.freeze": ""}},
		"before Linux 5.14":     {files: []string{"cgroup.controllers"}, says: map[string]string{"cgroup.freeze": "0"}, killed: true},
		"version 1":             {files: []string{"freezer.state"}, says: map[string]string{"freezer.state": "THAWED"}, killed: true},
		"no freezer":            {says: map[string]string{"freezer.state": "", "cgroup.freeze": ""}},
		"no process":            {files: []string{"cgroup.controllers"}, empty: true, says: map[string]string{"cgroup.freeze": ""}},
		"it cannot be frozen":   {files: []string{"cgroup.controllers"}, blocked: "cgroup.freeze", err: `cannot write "1" to `},
		"it cannot be killed":   {files: []string{"cgroup.controllers"}, blocked: "cgroup.kill", err: `cannot write "1" to `},
		"it has another frozen": {files: []string{"freezer.state"}, empty: true, says: map[string]string{"freezer.state": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, file := range c.files {
				fill(t, dir, file, "")
			}
			if c.blocked != "" {
				fill(t, filepath.Join(dir, c.blocked), "in-the-way", "")
			}
			child := exec.Command("sleep", "1000")
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			if !c.empty {
				fill(t, dir, "cgroup.procs", strconv.Itoa(child.Process.Pid))
			}
			g, err := Find([]string{dir})
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Kill(); c.err != "" {
				fails(t, err, c.err)
			} else if err != nil {
				t.Error(err)
			}
			for file, want := range c.says {
				mustSay(t, dir, file, want)
			}
			_ = child.Process.Signal(syscall.SIGTERM) // for one that was not killed; the first signal decides
			if err := child.Wait(); (err.Error() == "signal: killed") != c.killed {
				t.Errorf("the process ended with %v", err)
			}
		})
	}
}

// Remove tries again until a group can be removed, or its time is over.
func TestRemoveWaits(t *testing.T) {
	t.Parallel()
	if err := (*Group)(nil).Remove(time.Hour); err != nil {
		t.Errorf("without a group: %v", err)
	}
	for _, leaves := range []time.Duration{3 * time.Second, time.Hour} {
		dir := filepath.Join(t.TempDir(), "group")
		fill(t, dir, "process", "")
		synctest.Test(t, func(t *testing.T) {
			defer time.AfterFunc(leaves, func() { _ = os.Remove(filepath.Join(dir, "process")) }).Stop()
			begin := time.Now()
			const patience = 10 * time.Second
			err := (&Group{dirs: []string{dir}}).Remove(patience)
			least := min(leaves, patience)
			if took := time.Since(begin); took < least || took > least+100*time.Millisecond {
				t.Errorf("it took %v, not %v", took, least)
			}
			if leaves < patience && err != nil {
				t.Error(err)
			} else if leaves > patience {
				fails(t, err, "cannot remove a cgroup: remove "+dir+": directory not empty")
			}
		})
	}
}
