package jobtest_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hcldec"

	"taskrun/cmd/jobtest"
	"taskrun/drivers/mock"
)

// write puts files into a folder and returns it. A name that ends in a slash is
// a folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		folder := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			folder = path
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if folder == path {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var update = flag.Bool("update", false, "rewrite the golden files")

func TestTheWholeForm(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"web", "form"} {
		f, diagnostics := jobtest.Read("testdata/ok/" + name + jobtest.Suffix)
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics)
		}
		var got strings.Builder
		fmt.Fprintf(&got, "job %s, stubs %s\n", filepath.ToSlash(f.Job), filepath.ToSlash(f.Stubs))
		for _, run := range f.Runs {
			describe(&got, run)
		}
		golden(t, name, got.String())
	}
}

// golden compares a text with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "ok", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func describe(w *strings.Builder, run *jobtest.Run) {
	fmt.Fprintf(w, "%s: %s, until %q %v, timeout %v, snapshot %q\n", run.Name, run.Mode, run.Until.Event, run.Until.After, run.Timeout, run.Snapshot)
	for _, name := range slices.Sorted(maps.Keys(run.Variables)) {
		fmt.Fprintf(w, "  var.%s = %#v\n", name, run.Variables[name].Value)
	}
	for _, task := range run.Tasks {
		fmt.Fprintf(w, "  task %s: %#v %#v\n", task.Target, task.Script, task.Attempts)
	}
	for _, c := range run.Checks {
		fmt.Fprintf(w, "  check %s: %s %q after %v\n", c.Name, c.Status, c.Output, c.After)
	}
	for _, o := range run.Orders {
		fmt.Fprintf(w, "  at %v: %s %q %s count %d, signal %q, meta %v, payload %q\n",
			o.At, o.Verb, o.Target, filepath.Base(o.File), o.Count, o.Signal, o.Meta, o.Payload)
	}
	for _, e := range run.Execs {
		fmt.Fprintf(w, "  exec %s: %q timeout %v\n", e.Target, e.Command, e.Timeout)
	}
	for _, a := range run.Asserts {
		fmt.Fprintf(w, "  assert %s (message: %v)\n", a.Text, a.Message != nil)
		for _, p := range a.Parts {
			fmt.Fprintf(w, "    %s\n", p.Text)
		}
	}
	for _, e := range run.ExpectFailures {
		fmt.Fprintf(w, "  expects %s to fail\n", e.Name)
	}
}

// Every option of mock_driver can be written, and no other.
func TestScriptsHaveAllOptionsOfTheMock(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"string": `"1"`, "number": "1", "bool": "true"}
	var body func(spec hcldec.ObjectSpec) string
	body = func(spec hcldec.ObjectSpec) string {
		var b strings.Builder
		for name, option := range spec {
			switch option := option.(type) {
			case *hcldec.AttrSpec:
				text := texts[option.Type.FriendlyName()]
				if strings.HasSuffix(name, "_for") || strings.HasSuffix(name, "_after") || strings.HasSuffix(name, "_duration") {
					text = `"1s"`
				}
				fmt.Fprintf(&b, "%s = %s\n", name, text)
			case *hcldec.BlockSpec:
				nested, _ := option.Nested.(hcldec.ObjectSpec)
				fmt.Fprintf(&b, "%s {\n%s}\n", name, body(nested))
			default:
				t.Fatalf("%s is a %T", name, option)
			}
		}
		return b.String()
	}
	spec, _ := mock.New().TaskConfigSchema().(hcldec.ObjectSpec)
	text := "run \"r\" {\ntask \"t\" {\n" + body(spec) + "}\n}\n"
	dir := write(t, map[string]string{"a.nomad.hcl": "", "a.nomadtest.hcl": text})
	f, diagnostics := jobtest.Read(filepath.Join(dir, "a.nomadtest.hcl"))
	if len(diagnostics) > 0 {
		t.Fatalf("%v\n%s", diagnostics, text)
	}
	script := f.Runs[0].Tasks[0].Script.Type().AttributeTypes()
	want := hcldec.ImpliedType(spec).AttributeTypes()
	if len(script) != len(want) || len(script) < 20 {
		t.Errorf("got %d options, want %d", len(script), len(want))
	}
	for name, ty := range want {
		if !script[name].Equals(ty) {
			t.Errorf("%s is %s, want %s", name, script[name].FriendlyName(), ty.FriendlyName())
		}
	}
}

func TestWhereTheJobAndItsStubsAre(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, test, text string
		files            []string
		job, stubs       string
	}{
		{"beside", "a.nomadtest.hcl", "", []string{"a.nomad.hcl", "taskrun.hcl"}, "a.nomad.hcl", "taskrun.hcl"},
		{"older endings", "a.nomadtest.hcl", "", []string{"a.nomad"}, "a.nomad", ""},
		{"one up", "tests/a.nomadtest.hcl", "", []string{"a.nomad.hcl", "taskrun.hcl"}, "a.nomad.hcl", "taskrun.hcl"},
		{"beside comes first", "tests/a.nomadtest.hcl", "", []string{"a.nomad.hcl", "tests/a.nomad.hcl", "taskrun.hcl"}, "tests/a.nomad.hcl", ""},
		{"named", "tests/a.nomadtest.hcl", `job = "../x/b.hcl"`, []string{"x/b.hcl", "x/taskrun.hcl", "a.nomad.hcl"}, "x/b.hcl", "x/taskrun.hcl"},
		{"named stubs", "a.nomadtest.hcl", `stubs = "ci/s.hcl"`, []string{"a.nomad.hcl", "taskrun.hcl", "ci/s.hcl"}, "a.nomad.hcl", "ci/s.hcl"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{c.test: c.text + "\nrun \"r\" {}\n"}
			for _, f := range c.files {
				files[f] = ""
			}
			dir := write(t, files)
			f, diagnostics := jobtest.Read(filepath.Join(dir, c.test))
			want := ""
			if c.stubs != "" {
				want = filepath.Join(dir, c.stubs)
			}
			if len(diagnostics) > 0 || f.Job != filepath.Join(dir, c.job) || f.Stubs != want {
				t.Errorf("job %q, stubs %q, %v", f.Job, f.Stubs, diagnostics)
			}
		})
	}
}

func TestTextThatCouldExhaustTheMachineIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"brackets":  "run \"r\" { assert { condition = " + strings.Repeat("(", 10_000) + "true" + strings.Repeat(")", 10_000) + " } }\n",
		"blocks":    strings.Repeat("run \"r\" {\n", 5000) + strings.Repeat("}\n", 5000),
		"operators": "run \"r\" {\n until = " + strings.Repeat("-", 40_000) + "1\n}\n",
		"digits":    "run \"r\" {\n timeout = " + strings.Repeat("9", 40_000) + "\n}\n",
		"a loop":    "variables {\n x = [for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c]]]\n}\nrun \"r\" {}\n",
		"lines":     strings.Repeat("assert { condition = 1 }\n", 4000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, map[string]string{"a.nomad.hcl": "", "a.nomadtest.hcl": text})
			_, diagnostics := jobtest.Read(filepath.Join(dir, "a.nomadtest.hcl"))
			if !diagnostics.HasErrors() {
				t.Error("nothing is said")
			}
		})
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const fits = "job = \"a.nomad.hcl\"\nrun \"r\" {}\n"
	dir := write(t, map[string]string{
		"a.nomad.hcl": "", "folder" + jobtest.Suffix + "/": "",
		"large" + jobtest.Suffix: strings.Repeat("#\n", 1<<19) + "#", "fits" + jobtest.Suffix: fits + strings.Repeat("#", 1<<20-len(fits)),
	})
	for name, want := range map[string]string{
		"none": "no such file or directory", "folder": "it is a directory", "large": "it is larger than 1 MiB", "fits": "",
	} {
		path := filepath.Join(dir, name+jobtest.Suffix)
		f, diagnostics := jobtest.Read(path)
		if want == "" && len(diagnostics) == 0 {
			continue
		}
		if whole := fmt.Sprintf("cannot read the test file %q: %s", path, want); diagnostics.Error() != whole || f == nil {
			t.Errorf("got %q, want %q", diagnostics.Error(), whole)
		}
	}
}
