package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd"
)

// TestManPages checks that every command has a page with every flag.
func TestManPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	if err := write("v1.2.3", dir); err != nil {
		t.Fatal(err)
	}
	pages := 0
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		pages++
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		text := strings.ReplaceAll(string(page), `\`, "")
		if !strings.Contains(text, "taskrun v1.2.3") {
			t.Errorf("%s does not have the version", name)
		}
		flag := func(f *pflag.Flag) {
			if !f.Hidden && f.Deprecated == "" && !strings.Contains(text, "--"+f.Name) {
				t.Errorf("%s does not have --%s", name, f.Name)
			}
		}
		c.LocalFlags().VisitAll(flag)
		c.InheritedFlags().VisitAll(flag)
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() {
				check(below)
			}
		}
	}
	check(cmd.Commands())
	if pages < 40 {
		t.Errorf("%d pages", pages)
	}
}
