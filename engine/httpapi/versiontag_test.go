package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// A version with a tag is found by it, and kept however many follow.
func TestVersionTags(t *testing.T) {
	t.Parallel()
	job := func(n int) *api.Job {
		j := newJob("job", "service", newTask("main", "run_for", "1h"))
		j.Priority = new(50 + n)
		return j
	}
	f := serve(t, job(0))
	f.running("main")
	jobs := f.client.Jobs()
	index := func() uint64 {
		t.Helper()
		_, _, meta, err := jobs.Versions("job", false, nil)
		if err != nil {
			t.Fatal(err)
		}
		return meta.LastIndex
	}
	before := index()
	meta, err := jobs.TagVersion("job", 0, "golden", "as it began", nil)
	if err != nil {
		t.Fatal(err)
	}
	if after := index(); after <= before || meta.LastIndex != after {
		t.Errorf("a tag leaves the index of the versions at %d, after %d: no blocking query sees it", after, before)
	}
	tags := func() (found []string) {
		t.Helper()
		versions, _, _, err := jobs.Versions("job", false, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range versions {
			if v.VersionTag != nil {
				found = append(found, fmt.Sprint(*v.Version, " ", v.VersionTag.Name, " ", v.VersionTag.Description))
			}
		}
		return found
	}
	for n := range 8 {
		if _, _, err := jobs.Register(job(n+1), nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := tags(); len(got) != 1 || got[0] != "0 golden as it began" {
		t.Errorf("tags %q", got)
	}
	for want, base := range map[[3]string]api.VersionsOptions{
		{"57 58", "", "57 56"}:      {Diffs: true, DiffVersion: new(uint64(7))},
		{"50 58", "50 57", "50 56"}: {Diffs: true, DiffTag: "golden", DiffVersion: new(uint64(7))},
	} {
		versions, diffs, _, err := jobs.VersionsOpts("job", &base, nil)
		if err != nil || len(diffs) != len(versions) {
			t.Fatalf("%+v: %d diffs of %d versions, %v", base, len(diffs), len(versions), err)
		}
		for i, priorities := range want {
			got := ""
			for _, f := range diffs[i].Fields {
				got += f.Old + " " + f.New
			}
			if got != priorities {
				t.Errorf("%+v, version %d: priorities %q, want %q", base, 8-i, got, priorities)
			}
		}
	}
	for name, call := range map[string]func() (*api.WriteMeta, error){
		`tag "golden" already exists on a different version of job "job": version 0`: func() (*api.WriteMeta, error) { return jobs.TagVersion("job", 8, "golden", "", nil) },
		`job "job" version 99 not found`:                                             func() (*api.WriteMeta, error) { return jobs.TagVersion("job", 99, "x", "", nil) },
		`tag "x" not found on job "job"`:                                             func() (*api.WriteMeta, error) { return jobs.UntagVersion("job", "x", nil) },
		"job not found":                                                              func() (*api.WriteMeta, error) { return jobs.TagVersion("none", 0, "x", "", nil) },
		"1 to 128 bytes":                                                             func() (*api.WriteMeta, error) { return jobs.TagVersion("job", 0, strings.Repeat("x", 129), "", nil) },
	} {
		if _, err := call(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
	if _, _, err := jobs.Revert("job", 0, nil, nil, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := jobs.TagVersionOpts("job", "latest", &api.TagVersionRequest{Latest: true}, nil); err != nil {
		t.Fatal(err)
	}
	if got := tags(); len(got) != 2 || got[0] != "9 latest " || got[1] != "0 golden as it began" {
		t.Errorf("tags %q", got)
	}
	long := strings.Repeat("x", 128)
	if _, err := jobs.TagVersion("job", 8, long, "", nil); err != nil {
		t.Error(err)
	}
	if _, err := jobs.UntagVersion("job", long, nil); err != nil {
		t.Error(err)
	}
	if _, err := jobs.UntagVersion("job", "golden", nil); err != nil {
		t.Error(err)
	}
	if got := tags(); len(got) != 1 {
		t.Errorf("tags %q", got)
	}
}
