package datadir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/safedir/dirtest"
)

// Obstacles to creating a directory or a file are reported, and left alone.
func TestObstacles(t *testing.T) {
	t.Parallel()
	open := func(data string) error {
		r, err := OpenRun(data, "web", "1")
		if err == nil {
			err = r.Close()
		}
		return err
	}
	clean := func(data string) error { return Clean(data, "web", 0, func() error { return nil }) }
	volume := func(data string) error { _, err := MakeVolume(data, "v", nil); return err }
	for name, tt := range map[string]struct {
		obstacle string // a directory if it ends in a slash
		do       func(data string) error
		want     string // in the error
	}{
		"a file for the jobs":            {"jobs", open, "cannot make directory"},
		"a file for the runs":            {"jobs/web/runs", open, "cannot make directory"},
		"a directory for the lock":       {"jobs/web/lock/", open, "cannot lock job"},
		"cleaning with such a lock":      {"jobs/web/lock/", clean, "cannot lock job"},
		"cleaning with a file for runs":  {"jobs/web/runs", clean, "cannot prune runs"},
		"a file for the volumes":         {"host_volumes", volume, "is in the way"},
		"a file for a volume":            {"host_volumes/v", volume, "host_volumes/v"},
		"a file in a volume":             {"host_volumes/v/data", volume, "data"},
		"a file for the runs of the job": {"jobs/web/runs", func(data string) error { _, err := Runs(data, "web"); return err }, "cannot list the runs"},
		"a file for runs of residents":   {"jobs/web/runs", func(data string) error { _, err := ResidentRuns(data, data); return err }, "not a directory"},
		"a file for all jobs":            {"jobs", func(data string) error { _, err := Jobs(data); return err }, "cannot list jobs"},
		"a file for the log":             {"x", func(data string) error { _, err := NewLog(filepath.Join(data, "x")); return err }, "x"},
		"a file for a run to go on":      {"jobs/web/runs/1", func(data string) error { _, err := ReopenRun(RunDir(data, "web", "1"), nil); return err }, "cannot open run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := leaktest.TempDir(t)
			dirtest.Fill(t, data, tt.obstacle)
			err := tt.do(data)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if _, err := os.Lstat(filepath.Join(data, tt.obstacle)); err != nil {
				t.Errorf("it is gone: %v", err)
			}
		})
	}
}
