package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/leaktest"
)

func TestOneAgentForADataDirectory(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(leaktest.TempDir(t), "data")
	if pid, holds := AgentHolds(dataDir); holds {
		t.Errorf("process %d has a directory that does not exist", pid)
	}
	first, err := OpenAgent(dataDir, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenAgent(dataDir, nil)
	if inUse, ok := errors.AsType[*AgentError](err); !ok || !errors.Is(err, ErrAgent) || inUse.PID != os.Getpid() {
		t.Errorf("the second agent: %v", err)
	}
	if pid, holds := AgentHolds(dataDir); !holds || pid != os.Getpid() {
		t.Errorf("held by %d, %v", pid, holds)
	}
	second, err := OpenAgent(dataDir, first.Lock()) // as after an exec
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if _, holds := AgentHolds(dataDir); holds {
		t.Error("it is still held")
	}
	third, err := OpenAgent(dataDir, nil)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := unix.Dup(int(third.Lock().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(third.Leave(os.Getppid()), third.Close()); err != nil {
		t.Error(err)
	}
	if pid, holds := AgentHolds(dataDir); !holds || pid != os.Getppid() {
		t.Errorf("left to a keeper, it is held by %d, %v", pid, holds)
	}
	if err := unix.Close(inherited); err != nil {
		t.Error(err)
	}
	if _, holds := AgentHolds(dataDir); holds {
		t.Error("it is held after the end of the keeper")
	}
}

// An agent that was killed may keep the lock for a moment.
func TestAgentWaitsForTheLock(t *testing.T) {
	t.Parallel()
	dataDir := filepath.Join(leaktest.TempDir(t), "data")
	synctest.Test(t, func(t *testing.T) {
		first, err := OpenAgent(dataDir, nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.AfterFunc(lockPatience/2, func() { _ = first.Close() })
		second, err := OpenAgent(dataDir, nil)
		if err != nil || time.Since(began) >= lockPatience {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		began = time.Now()
		if _, err := OpenAgent(dataDir, nil); !errors.Is(err, ErrAgent) || time.Since(began) > 2*lockPatience {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := os.WriteFile(second.Path("lock"), fmt.Appendln(nil, 1<<30), 0o600); err != nil { // no such process
			t.Fatal(err)
		}
		time.AfterFunc(2*lockPatience, func() { _ = second.lock.Close() }) // as the end of its keeper does
		third, err := OpenAgent(dataDir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := third.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAgentRefusesDirectories(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(dataDir string) error
		want    string
	}{
		"later version": {func(d string) error {
			err := os.MkdirAll(agentDir(d), 0o700)
			return errors.Join(err, os.WriteFile(filepath.Join(agentDir(d), "format"), []byte("7\n"), 0o600))
		}, "a later version of taskrun wrote the state"},
		"file in the way": {func(d string) error { return os.WriteFile(d, nil, 0o600) }, "is in the way"},
		"strange lock":    {func(d string) error { return os.MkdirAll(filepath.Join(agentDir(d), "lock"), 0o700) }, "cannot lock data directory"},
	} {
		dataDir := filepath.Join(leaktest.TempDir(t), "data")
		if err := c.prepare(dataDir); err != nil {
			t.Fatal(err)
		}
		if a, err := OpenAgent(dataDir, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
}

// A number that was cut off while it was written is no later version.
func TestAgentFormatCutOff(t *testing.T) {
	t.Parallel()
	dataDir := leaktest.TempDir(t)
	if err := os.MkdirAll(agentDir(dataDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(agentDir(dataDir), "format"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := OpenAgent(dataDir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(a.Path("lock")); errors.Is(err, fs.ErrNotExist) {
		t.Error("the lock was removed")
	}
}

// The runs of a killed agent are claimed, unless another agent has its directory.
func TestClaimRuns(t *testing.T) {
	t.Parallel()
	var runDirs []string
	agents := map[string]*Agent{}
	for _, name := range []string{"lives", "dead", "dead", "none"} {
		runDir := leaktest.TempDir(t)
		runDirs = append(runDirs, runDir)
		if name == "none" {
			continue
		}
		if agents[name] == nil {
			a, err := OpenAgent(filepath.Join(leaktest.TempDir(t), name), nil)
			if err != nil {
				t.Fatal(err)
			}
			agents[name] = a
		}
		if err := mark(runDir, agents[name].Dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := agents["dead"].Close(); err != nil {
		t.Fatal(err)
	}
	free, locks := ClaimRuns(runDirs)
	if !slices.Equal(free, runDirs[1:]) || len(locks) != 1 {
		t.Errorf("free of %q are %q, with %d locks", runDirs, free, len(locks))
	}
	if _, locked := holder(agents["dead"].Dir); !locked {
		t.Error("another agent may continue the runs")
	}
	for _, f := range locks {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, locked := holder(agents["dead"].Dir); locked {
		t.Error("it is locked after the end")
	}
	if err := agents["lives"].Close(); err != nil {
		t.Error(err)
	}
}
