package report_test

import (
	"strings"
	"testing"

	"taskrun/jobspec"
	"taskrun/jobspec/report"
)

func TestSnippetShowsNoCredentials(t *testing.T) {
	t.Parallel()
	const line = `  source = "s3::https://me:SECRET@host/x?token=SECRET" # the app`
	for name, marked := range map[string]string{
		"the value": `"s3::https://me:SECRET@host/x?token=SECRET"`, "the name": "source", "a part of the URL": "host", "what follows": "# the app",
	} {
		begin := strings.Index(line, marked)
		p := jobspec.Diagnostic{Summary: "no", Range: jobspec.Range{
			File:  "f",
			Start: jobspec.Pos{Line: 1, Column: begin + 1, Byte: begin},
			End:   jobspec.Pos{Line: 1, Column: begin + len(marked) + 1, Byte: begin + len(marked)},
		}}
		var out strings.Builder
		if err := report.Render(&out, p, map[string][]byte{"f": []byte(line)}, plain(0)); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.Contains(got, "SECRET") || !strings.Contains(got, `"s3::https://xxxxx@host/x?token=xxxxx" # the app`) || !strings.Contains(got, "^") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
