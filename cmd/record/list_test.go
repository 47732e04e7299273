package record

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/client"
	"taskrun/cmd/source"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/leaktest"
)

// Runs are listed by job, the newest first. An engine has the live ones, and an agent
// those that it keeps.
func TestList(t *testing.T) {
	t.Parallel()
	data := leaktest.TempDir(t)
	const first, second = "20260102T030405.000Z-0a1b", "20260103T030405.000Z-0a1b"
	for job, ids := range map[string][]string{"db": {first}, "web": {first, second}, "mail": {second}} {
		for _, id := range ids {
			if err := os.MkdirAll(datadir.RunDir(data, job, id), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	live := []*source.Directory{{
		Self:      &client.Self{Runs: map[string]string{"web": datadir.RunDir(data, "web", second), "mail": datadir.RunDir(data, "mail", second), "db": "/elsewhere"}},
		EndedJobs: map[string]bool{"mail": true},
	}}
	for job, want := range map[string][]string{
		"":      {"db/" + first, "mail/" + second + " kept", "web/" + second + " live", "web/" + first},
		"web":   {"web/" + second + " live", "web/" + first},
		"other": nil,
	} {
		runs, err := List(data, job, live)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range runs {
			name := r.Name()
			if r.Live {
				name += " live"
			}
			if r.Kept {
				name += " kept"
			}
			got = append(got, name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("of job %q (-want +got):\n%s", job, diff)
		}
	}
	runsOfBad := filepath.Dir(datadir.RunDir(data, "bad", first))
	if err := errors.Join(os.MkdirAll(filepath.Dir(runsOfBad), 0o700), os.WriteFile(runsOfBad, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if runs, err := List(data, "", live); len(runs) != 4 || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("with a file in place of the runs of a job: %d runs, %v", len(runs), err)
	}
}
