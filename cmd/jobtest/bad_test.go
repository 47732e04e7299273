package jobtest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
	"golang.org/x/tools/txtar"

	"taskrun/cmd/jobtest"
	"taskrun/jobspec"
	"taskrun/jobspec/report"
)

// TestDiagnostics reads the files of archives, each of which has what is said about
// it behind it, in a file of the same name and ".said".
func TestDiagnostics(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"read", "check"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", kind+".txtar")
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{"a.nomad.hcl": "", "folder/": ""}
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			dir := write(t, files)
			for i := 0; i < len(archive.Files); i++ {
				f := archive.Files[i]
				if !strings.HasSuffix(f.Name, jobtest.Suffix) {
					continue
				}
				got := said(t, filepath.Join(dir, f.Name), kind == "check")
				got = strings.ReplaceAll(got, dir+string(filepath.Separator), "")
				if i+1 == len(archive.Files) || archive.Files[i+1].Name != f.Name+".said" {
					if !*update {
						t.Fatalf("nothing stands behind %s", f.Name)
					}
					archive.Files = slices.Insert(archive.Files, i+1, txtar.File{Name: f.Name + ".said"})
				}
				want := &archive.Files[i+1].Data
				if *update {
					*want = []byte(got)
				}
				if diff := cmp.Diff(string(*want), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// said returns the diagnostics of a file as people read them.
func said(t *testing.T, path string, check bool) string {
	t.Helper()
	f, diagnostics := jobtest.Read(path)
	if check {
		if len(diagnostics) > 0 {
			t.Fatalf("%s: %v", path, diagnostics)
		}
		diagnostics = f.Check(jobOf(t, f.Job))
	}
	var b bytes.Buffer
	if err := report.RenderAll(&b, diagnostics, map[string][]byte{path: f.Text}, plain{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// plain is the look of reports in tests.
type plain struct{}

func (plain) Width() int                              { return 0 }
func (plain) Paint(_ report.Kind, text string) string { return text }

// jobOf reads a job file; its variables are not set.
func jobOf(t testing.TB, path string) *api.Job {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: path, Text: text}, jobspec.Options{Outline: true})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	file.Job.Canonicalize()
	return file.Job
}
