package validate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/validate"
)

// For any job of a client, validation ends, is deterministic, and every
// diagnostic has a path.
func FuzzJob(f *testing.F) {
	seeds, err := filepath.Glob("../testdata/ok/*.json.golden")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range seeds {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var outer struct{ Job *api.Job }
		if json.Unmarshal(text, &outer) != nil || outer.Job == nil || !canonicalize(outer.Job) {
			t.Skip()
		}
		diagnostics := validate.Job(outer.Job, nil)
		for _, p := range diagnostics {
			if p.Path != jobspec.Root && !strings.HasPrefix(string(p.Path), string(jobspec.Root)+".") || p.Summary == "" {
				t.Errorf("diagnostic without path or summary: %+v", p)
			}
		}
		if diff := cmp.Diff(diagnostics, validate.Job(outer.Job, nil)); diff != "" {
			t.Errorf("the second answer differs (-first +second):\n%s", diff)
		}
	})
}

// canonicalize reports whether Nomad's package can process the job: it panics
// at null in place of a block.
func canonicalize(job *api.Job) (ok bool) {
	defer func() { ok = recover() == nil }()
	job.Canonicalize()
	return
}
