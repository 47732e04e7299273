package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// realTree opens a tree of this machine, if possible for this user.
func realTree(t *testing.T) *Tree {
	t.Helper()
	tree, err := openHere()
	if err != nil {
		t.Skipf("cgroups cannot be used here: %v", err)
	}
	t.Cleanup(func() {
		if err := tree.remove(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

// A program has one tree, however many drivers use it.
func TestOpenTwice(t *testing.T) {
	t.Parallel()
	one, err := Open()
	if err != nil {
		t.Skipf("cgroups cannot be used here: %v", err)
	}
	two, err := Open()
	if err != nil || one != two {
		t.Fatalf("there are two trees: %v", err)
	}
	dir := one.hierarchies[0].dir
	for _, there := range []bool{true, false} {
		if err := one.Close(); err != nil {
			t.Error(err)
		}
		if exists(dir) != there {
			t.Errorf("it is there: %v", !there)
		}
	}
}

// realVersion2 opens a tree of version 2 even if the memory controller is in
// version 1: limits are impossible then, but nothing else is.
func realVersion2(t *testing.T) *Tree {
	t.Helper()
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Skip(err)
	}
	dir, _, ok := version2(parseMounts(string(mountinfo)), "0::/\n")
	if !ok || os.Geteuid() != 0 {
		t.Skip("no cgroups of version 2 are mounted for this user")
	}
	tree := &Tree{version2: true}
	if err := tree.add("", filepath.Join(dir, top)); err != nil {
		t.Skipf("cgroups of version 2 cannot be used here: %v", err)
	}
	t.Cleanup(func() {
		if err := tree.remove(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

// start starts a shell in a group.
func start(t *testing.T, g *Group, script string) *exec.Cmd {
	t.Helper()
	// It continues when it reads a line, once it is in the group.
	cmd := exec.Command("/bin/sh", "-c", "read x\n"+script)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if g.Version2() {
		dir, err := os.Open(g.Dirs()[0])
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if !g.Version2() {
		for _, dir := range g.Dirs() {
			if err := write(dir, "cgroup.procs", strconv.Itoa(cmd.Process.Pid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := stdin.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	return cmd
}

const patience = time.Minute

// A group finds its processes wherever they moved, kills them, and is removed.
func TestTheKernelKills(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *Tree{"its own version": realTree, "version 2": realVersion2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := open(t).Make("task/1", Limits{})
			if err != nil {
				t.Fatal(err)
			}
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := start(t, g, "(setsid env -i /bin/sleep 1000 &) ; sleep 1000 & echo ready > "+fifo+"; wait")
			if ready, err := os.ReadFile(fifo); err != nil || len(ready) == 0 {
				t.Fatal(err)
			}
			pids := g.Processes()
			if !slices.Contains(pids, cmd.Process.Pid) || len(pids) < 3 {
				t.Errorf("in the group are %v", pids)
			}
			if again, err := Find(g.Dirs()); err != nil || !slices.Equal(again.Processes(), pids) {
				t.Errorf("found again, it is %+v, %v", again, err)
			}
			if err := g.Remove(patience); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
				t.Errorf("it ended with %v", err)
			}
			for _, dir := range g.Dirs() {
				if exists(dir) {
					t.Errorf("%q is there", dir)
				}
			}
			if err := g.Remove(0); err != nil {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}

// A process that needs too much memory is killed, which is counted.
func TestTheKernelLimitsMemory(t *testing.T) {
	t.Parallel()
	g, err := realTree(t).Make("task/2", Limits{Memory: 20 << 20, CPUShares: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Remove(patience); err != nil {
			t.Error(err)
		}
	}()
	const eat = "head -c 100000000 /dev/zero | tail -c 100000000 | wc -c; exit 7"
	if err := start(t, g, eat).Wait(); err == nil || !strings.Contains(err.Error(), "7") {
		t.Errorf("the shell ended with %v", err)
	}
	if n := g.OOMKills(); n != 1 {
		t.Errorf("%d were killed", n)
	}
}

// Groups of a killed run are removed by the next run, those of a live one are
// not.
func TestTheKernelLocks(t *testing.T) {
	t.Parallel()
	one, two := realTree(t), realTree(t)
	g, err := one.Make("task", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	sweep(filepath.Dir(two.hierarchies[0].dir))
	if !exists(g.Dirs()[0]) {
		t.Error("the group of a run that lives was removed")
	}
	for _, h := range one.hierarchies {
		h.lock.Close() // as after a kill
	}
	if again, err := Find(g.Dirs()); err != nil {
		t.Error(err)
	} else if err := again.Remove(0); err != nil { // as a later run does before it sweeps
		t.Error(err)
	}
	// Others that sweep at the same time may have it locked for a moment.
	for deadline := time.Now().Add(patience); slices.ContainsFunc(g.Dirs(), func(dir string) bool { return exists(filepath.Dir(dir)) }); {
		if time.Now().After(deadline) {
			t.Fatalf("not all of %q were removed", g.Dirs())
		}
		for _, h := range two.hierarchies {
			sweep(filepath.Dir(h.dir))
		}
	}
}
