package report_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"taskrun/cmd/report"
)

func TestJUnit(t *testing.T) {
	t.Parallel()
	got := report.JUnit("taskrun test", []report.Suite{
		{
			Name: "web.nomadtest.hcl", Began: began, Host: "ci-1", Properties: []report.Property{{"seed", "1"}, {"virtual_time.stays up", "1h0m0s"}},
			Cases: []report.Case{
				{Class: "web.nomadtest.hcl", Name: "stays up", Took: 12345 * time.Microsecond, Out: "hello\n"},
				{
					Class: "web.nomadtest.hcl", Name: `is "restarted" <3 times>`, Took: time.Second, Err: "no\x1b[31m", Skipped: "it failed",
					Failures: []report.Failed{{"assert", "restart policy changed", "2 == 3\nfalse"}, {"assert", "second", "b"}},
				},
			},
		},
		{Name: "db", Began: began, Cases: []report.Case{{Class: "db", Name: "late", Skipped: "an earlier run failed"}}},
	})
	golden(t, "test.xml", got)
	conforms(t, got)
}

// FuzzJUnit: whatever tasks write, a parser reads the report, and all that XML can
// hold comes back.
func FuzzJUnit(f *testing.F) {
	for _, s := range []string{"plain\n", "\x00\x01\x08\x0b\x1f\x7f", "\xff\xfe", "\ufffe\uffff\ufffd", "]]>", "<![CDATA[", "&amp;\r\n", "\u0085\u009f 😀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := report.JUnit(s, []report.Suite{{Name: s, Cases: []report.Case{{
			Class: s, Name: s, Failures: []report.Failed{{s, s, s}}, Out: s, Err: s,
		}}, Properties: []report.Property{{s, s}}}})
		dec := xml.NewDecoder(strings.NewReader(string(text)))
		elements := 0
		for {
			token, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if _, ok := token.(xml.StartElement); ok {
				elements++
			}
		}
		if want := 8; s != "" && elements != want {
			t.Errorf("%d elements, want %d", elements, want)
		}
	})
}
