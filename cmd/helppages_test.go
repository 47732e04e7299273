package cmd

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"taskrun/cmd/console"
	"taskrun/cmd/ui"
)

var updatePages = flag.Bool("update", false, "write the golden files")

// TestHelpPages compares the help of every command with testdata/help, which
// shows it as a user sees it.
func TestHelpPages(t *testing.T) {
	t.Parallel()
	root := newRootCommand(newApp(&console.Console{Color: ui.ColorAuto}, nil))
	pages := map[string]bool{}
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		var out bytes.Buffer
		c.SetOut(&out)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", "help", c.Name()+".txt")
		pages[golden] = true
		if *updatePages {
			if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Errorf("%v; run go test ./cmd -run TestHelpPages -update", err)
			continue
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("taskrun %s --help (-want +got):\n%s", c.Name(), diff)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "help", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !pages[f] {
			t.Errorf("%s is the help of no command", f)
		}
	}
}
