package needs_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/stub/needs"
	"taskrun/jobspec/taskenv"
)

var update = flag.Bool("update", false, "write the golden files")

// TestMerge merges the needs of job files with stubs files. Each archive has a job
// file, maybe a stubs file and the requests of the first template of the first
// task, and the result of Merge: the text and a line for each addition, or its
// diagnostics.
func TestMerge(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/merge/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal(archives, err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string][]byte{}
			for _, f := range archive.Files {
				files[f.Name] = f.Data
			}
			outline := outlineOf(t, files["job.nomad.hcl"], files["requests"])
			merged, added, diagnostics := needs.Merge(files["taskrun.hcl"], "taskrun.hcl", outline)
			got := map[string]string{"merged": string(merged), "added": lines(added), "diagnostics": lines(texts(diagnostics))}
			if *update {
				for i, f := range archive.Files {
					if text, ok := got[f.Name]; ok {
						archive.Files[i].Data = []byte(text)
					}
				}
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for name, text := range got {
				if diff := cmp.Diff(string(files[name]), text); diff != "" {
					t.Errorf("%s (-want +got); go test -update writes it:\n%s", name, diff)
				}
			}
			if diagnostics.HasErrors() {
				return
			}
			if _, diagnostics := stub.Parse("taskrun.hcl", merged); diagnostics.HasErrors() {
				t.Errorf("the merged file cannot be parsed: %v", diagnostics)
			}
			if again, added, _ := needs.Merge(merged, "taskrun.hcl", outline); !bytes.Equal(again, merged) || len(added) > 0 {
				t.Errorf("a second time %q is added:\n%s", added, cmp.Diff(string(merged), string(again)))
			}
		})
	}
}

// Added blocks begin on a line of their own, also after a file without a last
// newline.
func TestMergeAfterAnOpenLine(t *testing.T) {
	t.Parallel()
	outline := outlineOf(t, []byte(`job "x" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      env {
        A = "${meta.a}"
      }
    }
  }
}`), nil)
	merged, _, diagnostics := needs.Merge([]byte(`vault_token = "x"`), "taskrun.hcl", outline)
	if want := "vault_token = \"x\"\n\nnode {\n"; diagnostics.HasErrors() || !strings.HasPrefix(string(merged), want) {
		t.Errorf("%v: %q, want %q first", diagnostics, merged, want)
	}
}

// outlineOf parses a job file. Each line of requests has a kind, a label, and
// maybe the words list or varies.
func outlineOf(t *testing.T, job, requests []byte) needs.Job {
	t.Helper()
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "job.nomad.hcl", Text: job}, jobspec.Options{Outline: true})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	file.Job.Canonicalize()
	outline := needs.Job{File: file, Name: "job.nomad.hcl", Node: &taskenv.Node{
		Name: "here", Datacenter: "dc1", Meta: map[string]string{"rack": "r1"},
		Attributes: map[string]string{"cpu.numcores": "4", "kernel.name": "linux"},
	}}
	if requests != nil {
		outline.Requests = func(group, task int) (list []stub.Request) {
			for line := range strings.Lines(string(requests)) {
				if words := strings.Fields(line); group == 0 && task == 0 {
					list = append(list, stub.Request{
						Need: stub.Need{Kind: words[0], Label: words[1]},
						List: strings.HasSuffix(line, " list\n"), Varies: strings.HasSuffix(line, " varies\n"),
					})
				}
			}
			return list
		}
	}
	return outline
}

func texts(diagnostics jobspec.Diagnostics) (list []string) {
	for _, d := range diagnostics {
		list = append(list, d.Summary, d.Remedy)
	}
	return list
}

func lines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}
