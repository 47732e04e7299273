package play_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/timeline"
)

var update = flag.Bool("update", false, "rewrite what runs are wanted to do")

// told returns a run in lines: its events, and how it ended.
func told(o *jobtest.Outcome) string {
	var b strings.Builder
	for _, e := range timeline.Of(o.Began, o.Events) {
		fmt.Fprintf(&b, "%v %s %s: %s\n", e.At, e.Target, e.Type, e.Message)
	}
	fmt.Fprintf(&b, "%v %s, exit code %d: %s\n", o.Elapsed, o.Status, o.ExitCode, o.Cause)
	return b.String()
}

// Each archive has job files, tests, and the expected events of their runs.
func TestVirtualRuns(t *testing.T) {
	t.Parallel()
	archives, _ := filepath.Glob("testdata/*.txtar")
	if len(archives) == 0 {
		t.Fatal("there are no archives")
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			s, want, got := newStage(t, archive), "", ""
			kept := archive.Files[:0]
			for _, f := range archive.Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				kept = append(kept, f)
				if strings.HasSuffix(f.Name, jobtest.Suffix) {
					for _, p := range s.prepare(f.Name) {
						o, err := s.play(p, 1)
						if err != nil {
							t.Fatalf("run %q: %v", p.Run.Name, err)
						}
						got += fmt.Sprintf("%s:\n%s\n", p.Run.Name, told(o))
					}
				}
			}
			if *update {
				archive.Files = append(kept, txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" && !*update {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
