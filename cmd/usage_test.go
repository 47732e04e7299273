package cmd

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"taskrun/cmd/console"
	"taskrun/cmd/ui"
)

// TestHelpFitsTheTerminal prints the help of every command that taskrun itself
// defines.
func TestHelpFitsTheTerminal(t *testing.T) {
	t.Parallel()
	root := newRootCommand(newApp(&console.Console{Color: ui.ColorAuto}, nil))
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		var out bytes.Buffer
		c.SetOut(&out)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth {
				t.Errorf("%s: %d columns: %s", c.Name(), n, line)
			}
		}
		if n := utf8.RuneCountInString(c.Short); n > 70 {
			t.Errorf("%s: the short description has %d characters", c.Name(), n)
		}
	}
}

func TestHelpGroupsFlags(t *testing.T) {
	t.Parallel()
	root := newRootCommand(newApp(&console.Console{Color: ui.ColorAuto}, nil))
	up, _, err := root.Find([]string{"up"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	up.SetOut(&out)
	if err := up.Help(); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	at := 0
	for _, want := range []string{
		"\nJob flags:", "--no-restart", "\nOutput flags:", "--output", "\nEnding flags:", "--until",
		"\nCluster flags:", "--address", "\nExpert flags:", "--http",
	} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing behind %q", want, text[:at])
		}
		at += i
	}
	for _, hidden := range []string{"--rehearse", "--update", "--local", "--offline", "\nFlags:"} {
		if strings.Contains(text, hidden) {
			t.Errorf("help shows %q", hidden)
		}
	}
}
