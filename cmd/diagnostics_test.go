package cmd

import (
	"strings"
	"testing"

	"taskrun/cmd/console"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/ui"
	"taskrun/jobspec"
)

// withoutTime removes the type and the time from the front of a JSON object.
func withoutTime(line string) string {
	_, rest, _ := strings.Cut(line, `Z",`)
	return rest
}

// faults are an error with a place and a warning without one.
var faults = jobspec.Diagnostics{
	{
		Summary: "it is 100% wrong", Detail: "because,\nof: this", Remedy: "write something else",
		Range: jobspec.Range{
			File:  "a,b:c.hcl",
			Start: jobspec.Pos{Line: 2, Column: 3, Byte: 8}, End: jobspec.Pos{Line: 2, Column: 7, Byte: 12},
		},
	},
	{Severity: jobspec.Warning, Summary: "beware"},
}

func TestDiagnosticsInEachFormat(t *testing.T) {
	t.Parallel()
	source := []byte("job x\n  bad {\n")
	for format, want := range map[console.Format][2]string{
		console.FormatPlain: {"", `error: it is 100% wrong
  a,b:c.hcl:2:3
  2 |   bad {
    |   ^^^^
  because,
  of: this
  write something else

warning: beware
`},
		console.FormatGitHub: {`::error file=a%2Cb%3Ac.hcl,line=2,col=3,endLine=2,endColumn=7::it is 100%25 wrong%0Abecause,%0Aof: this%0Awrite something else
::warning::beware
`, ""},
		console.FormatJSON: {`"severity":"error","summary":"it is 100% wrong","detail":"because,\nof: this; write something else","file":"a,b:c.hcl","line":2,"column":3}
"severity":"warning","summary":"beware","detail":"","file":"","line":0,"column":0}
`, ""},
		console.FormatQuiet: {"", ""},
	} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			streams, stdout, stderr := ui.Test()
			a := newApp(&console.Console{Streams: streams, Color: ui.ColorAuto}, nil)
			files := []jobfile.File{{File: &jobspec.File{Sources: map[string][]byte{"a,b:c.hcl": source}}, Name: "a,b:c.hcl"}}
			if err := a.ShowDiagnostics(format, files, faults); err != nil {
				t.Fatal(err)
			}
			got := stdout.String()
			if format == console.FormatJSON {
				var lines strings.Builder
				for line := range strings.Lines(got) {
					lines.WriteString(withoutTime(line))
				}
				got = lines.String()
			}
			if got != want[0] {
				t.Errorf("stdout says\n%s\nwant\n%s", got, want[0])
			}
			if got := stderr.String(); got != want[1] {
				t.Errorf("stderr says\n%s\nwant\n%s", got, want[1])
			}
		})
	}
}
