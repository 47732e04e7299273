package jobspec_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
)

func TestOutputRoundTrip(t *testing.T) {
	t.Parallel()
	goldens, err := filepath.Glob("testdata/ok/*.golden")
	if err != nil || len(goldens) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, golden := range goldens {
		text, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: golden, Text: text}, jobspec.Options{})
		if len(diagnostics) > 0 {
			t.Errorf("%s: %v", golden, diagnostics)
			continue
		}
		var out bytes.Buffer
		if err := jobspec.WriteJSON(&out, file.Job); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", golden, diff)
		}
	}
}

func TestAPIJSON(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		opts       jobspec.Options
		want       string // part of the error; empty: a job called x
		at         string // the place of the error
	}{
		{name: "in an object", text: `{"Job":{"ID":"x"}}`},
		{name: "bare", text: `{"ID":"x","TaskGroups":[]}`},
		{name: "keys in any case", text: `{"Job":{"id":"x"}}`},
		{name: "unknown keys", text: `{"Job":{"ID":"x","Foo":{"Bar":[1]}}}`},
		{name: "null beside a bare job", text: `{"Job":null,"ID":"x","TaskGroups":null}`},
		{name: "more after it", text: `{"Job":{"ID":"x"}} trailing`},
		{name: "byte order mark", text: "\xef\xbb\xbf{\"Job\":{\"ID\":\"x\"}}"},
		{
			name: "wrong type", text: `{"Job":{"ID":"x","Priority":"high"}}`,
			want: `"Priority" cannot be a JSON string`, at: `"high"`,
		},
		{
			name: "duration as text", text: `{"Job":{"ID":"x","Update":{"Stagger":"30s"}}}`,
			want: "cannot be a JSON string", at: `"30s"`,
		},
		{
			name: "null among blocks", text: `{"Job":{"ID":"x","TaskGroups":[{"Name":"g","Tasks":[null]}]}}`,
			want: "this block is null", at: "null",
		},
		{
			name: "null in a map of blocks", text: `{"Job":{"ID":"x","TaskGroups":[{"Volumes":{"v":null}}]}}`,
			want: "this block is null", at: "null",
		},
		{name: "cut off", text: `{"Job":{"ID":"x"`, want: "invalid JSON"},
		{
			name: "with values", text: `{"Job":{"ID":"x"}}`, opts: jobspec.Options{Vars: []string{"a=1"}},
			want: "has no variables",
		},
		{name: "nested without end", text: `{"Job":{"ID":"x","Meta":` + strings.Repeat("[", 100000), want: "could exhaust the machine"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x.json", Text: []byte(test.text)}, test.opts)
			if test.want == "" {
				if len(diagnostics) > 0 || file.Job == nil || *file.Job.ID != "x" {
					t.Fatalf("got %+v, %v", file.Job, diagnostics)
				}
				return
			}
			if len(diagnostics) != 1 || !strings.Contains(diagnostics[0].Error(), test.want) {
				t.Fatalf("got %v, want %q", diagnostics, test.want)
			}
			if r := diagnostics[0].Range; test.at != "" && test.text[r.Start.Byte:r.End.Byte] != test.at {
				t.Errorf("points at %q, want %q", test.text[r.Start.Byte:r.End.Byte], test.at)
			}
		})
	}
}
