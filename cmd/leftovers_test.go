package cmd

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/console"
	"taskrun/cmd/ui"
	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine/leaf/datadir"
)

// finder is a driver with leftovers. It refuses to remove those named "stuck".
type finder struct {
	drivers.Driver
	absent  bool
	all     []drivers.Leftover
	removed []string
}

func (f *finder) Fingerprint(ctx context.Context) (<-chan drivers.Fingerprint, error) {
	if !f.absent {
		return f.Driver.Fingerprint(ctx)
	}
	ch := make(chan drivers.Fingerprint, 1)
	ch <- drivers.Fingerprint{Health: drivers.HealthUndetected}
	return ch, nil
}

func (f *finder) Leftovers(context.Context) ([]drivers.Leftover, error) {
	if f.absent {
		return nil, errors.New("it was asked")
	}
	return f.all, nil
}

func (f *finder) RemoveLeftover(_ context.Context, l drivers.Leftover) error {
	if l.Name == "stuck" {
		return errors.New("it is stuck")
	}
	f.removed = append(f.removed, l.Name)
	return nil
}

// TestCleanRemovesLeftovers removes leftovers of dead runs in this data
// directory only.
func TestCleanRemovesLeftovers(t *testing.T) {
	t.Parallel()
	dataDir, elsewhere, sockets := t.TempDir(), t.TempDir(), t.TempDir()
	open := func(dataDir, job string) *datadir.Run {
		t.Helper()
		run, err := datadir.OpenRun(dataDir, job, "1")
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	alloc := func(dataDir, job string) string {
		return filepath.Join(datadir.RunDir(dataDir, job, "1"), "alloc", "a")
	}
	for _, job := range []string{"dead/1", "stuck"} {
		if err := open(dataDir, job).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(elsewhere, "dead/1").Close(); err != nil {
		t.Fatal(err)
	}
	live := open(dataDir, "live")
	t.Cleanup(func() { _ = live.Close() })
	left := []drivers.Leftover{
		{Name: "web", AllocDir: alloc(dataDir, "dead/1")},
		{Name: "net", AllocDir: alloc(dataDir, "dead/1")},
		{Name: "live", AllocDir: alloc(dataDir, "live")},
		{Name: "elsewhere", AllocDir: alloc(elsewhere, "dead/1")},
		{Name: "unknown"},
	}
	clean := func(f *finder) (string, error) {
		f.Driver = mock.New()
		var out bytes.Buffer
		a := newApp(&console.Console{Streams: &ui.Streams{Out: &out, Env: func(string) string { return sockets }}}, func() map[string]drivers.Driver { return map[string]drivers.Driver{"finder": f} })
		err := runClean(t.Context(), a, cleanOptions{mode: ui.Plain, all: true, dataDir: dataDir})
		return out.String(), err
	}

	if said, err := clean(&finder{absent: true, all: left}); err != nil || strings.Contains(said, "container") {
		t.Errorf("without an engine it says %q, %v", said, err)
	}
	f := &finder{all: left}
	said, err := clean(f)
	if want := " and removed 2 containers; left alone: 1 running job\n"; err != nil || !strings.HasSuffix(said, want) {
		t.Errorf("it says %q, %v, want %q", said, err, want)
	}
	if diff := cmp.Diff([]string{"web", "net"}, f.removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}

	// A leftover that cannot be removed may use the directories of its run.
	if err := open(dataDir, "stuck").Close(); err != nil {
		t.Fatal(err)
	}
	stuck := &finder{all: []drivers.Leftover{{Name: "stuck", AllocDir: alloc(dataDir, "stuck")}}}
	if said, err := clean(stuck); err == nil || !strings.Contains(err.Error(), "it is stuck") || strings.Contains(said, "container") {
		t.Errorf("it says %q, %v", said, err)
	}
	if _, err := os.Stat(datadir.RunDir(dataDir, "stuck", "1")); err != nil {
		t.Error(err)
	}
	if _, err := clean(&finder{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(datadir.RunDir(dataDir, "stuck", "1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was not unlocked: %v", err)
	}
}
