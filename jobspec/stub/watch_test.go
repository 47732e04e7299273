package stub_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"taskrun/jobspec/stub"
)

func TestWatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set, diagnostics := stub.Parse(filepath.Join(dir, "taskrun.hcl"), []byte(`
task "app/server" {
  watch {
    paths  = ["**/*.go", "/etc/hosts"]
    ignore = [".git"]
    build  = ["go", "build", "-o", "server", "."]
  }
  watch {
    paths         = ["conf/*"]
    on_change     = "signal"
    change_signal = "SIGHUP"
  }
}
task "quiet" {}
`))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	want := []stub.TaskWatch{
		{Target: "app/server", Watch: stub.Watch{
			Dir: dir, Paths: []string{"**/*.go", "/etc/hosts"}, Ignore: []string{".git"},
			Build: []string{"go", "build", "-o", "server", "."}, Change: stub.ChangeRestart,
		}},
		{Target: "app/server", Watch: stub.Watch{Dir: dir, Paths: []string{"conf/*"}, Change: stub.ChangeSignal, Signal: "SIGHUP"}},
	}
	got := set.Watches()
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(stub.Watch{}, "At")); d != "" {
		t.Error(d)
	}
	if !got[0].IsFor("web/app/server") || got[0].IsFor("web/server") {
		t.Error("the target is not a suffix of JOB/GROUP/TASK")
	}
	if at := got[1].At.Start; at.Line != 8 {
		t.Errorf("the second block is in line %d", at.Line)
	}
}
