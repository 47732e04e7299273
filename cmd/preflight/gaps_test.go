package preflight

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/drivers/catalog"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// TestGapsAreReportedInPlace parses a job with one block for each row of
// notDone. The notice belongs to the line that ends with "# block".
func TestGapsAreReportedInPlace(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/notdone.nomad.hcl")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, line := range strings.Split(string(text), "\n") {
		if _, block, ok := strings.Cut(line, " # "); ok {
			want = append(want, fmt.Sprintf("%d: %s", i+1, block))
		}
	}
	if len(want) != len(notDone) {
		t.Errorf("the job has %d blocks that are not done, the table %d", len(want), len(notDone))
	}

	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "notdone.nomad.hcl", Text: text}, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	var got []string
	found := perJob(gaps)(&Case{Files: []File{{File: file, Job: file.Job, Name: "notdone.nomad.hcl"}}})
	found.Sort()
	for _, p := range found {
		block := strings.Split(p.Summary, `"`)[1]
		got = append(got, fmt.Sprintf("%d: %s", p.Range.Start.Line, block))
		if p.Severity != jobspec.Warning {
			t.Errorf("%s is no warning", p.Summary)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNoNoticeWithoutGaps(t *testing.T) {
	t.Parallel()
	src, err := jobspec.Read(t.Context(), "../../testdata/jobs/hello.nomad.hcl", nil)
	if err != nil {
		t.Fatal(err)
	}
	file, diagnostics := jobspec.Parse(src, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	c := &Case{Entry: Up, Files: []File{{File: file, Job: file.Job, Name: src.Name}}, Stubs: stub.None(), Drivers: catalog.New()}
	c.Health = NewHealth(c.Drivers)
	c.Prepare()
	if diagnostics := c.Check(); len(diagnostics) > 0 {
		t.Errorf("the example has diagnostics: %v", diagnostics)
	}
}
