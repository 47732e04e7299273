package docker_test

import (
	"context"
	"slices"
	"testing"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/dockertest"
)

// TestCleaningUp removes containers of other drivers, as leftovers and with the
// reference of OnUse.
func TestCleaningUp(t *testing.T) {
	t.Parallel()
	dockertest.Need(t)
	find := func(d *docker.Driver, cfg *drivers.TaskConfig) (drivers.Leftover, bool) {
		t.Helper()
		all, err := d.Leftovers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(l drivers.Leftover) bool { return l.Name == "task-"+cfg.AllocID })
		if i < 0 {
			return drivers.Leftover{}, false
		}
		return all[i], true
	}
	other := docker.New(docker.Config{})
	t.Cleanup(func() { _, _ = other.Shutdown(context.Background()) })

	_, cfg := startForever(t, "")
	l, ok := find(other, cfg)
	if !ok || l.AllocDir != cfg.AllocDir {
		t.Fatalf("what was left is %+v, %v", l, ok)
	}
	for range 2 {
		if err := other.RemoveLeftover(t.Context(), l); err != nil {
			t.Error(err)
		}
	}
	if _, ok := find(other, cfg); ok {
		t.Error("it is still there")
	}

	var lines []string
	d := docker.New(docker.Config{})
	d.OnUse(func(ref string) { lines = append(lines, ref) })
	cfg = startWith(t, d, dockertest.Shell(forever))
	if len(lines) != 1 {
		t.Fatalf("the lines are %q", lines)
	}
	for range 2 {
		if err := other.CleanUp(t.Context(), lines[0]); err != nil {
			t.Error(err)
		}
	}
	if _, ok := find(other, cfg); ok {
		t.Error("it is still there")
	}
	if err := other.CleanUp(t.Context(), "nonsense"); err == nil {
		t.Error("nonsense was cleaned up")
	}
}
