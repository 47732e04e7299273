package report_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/report"
)

func TestJUnit(t *testing.T) {
	t.Parallel()
	got := string(report.JUnit("taskrun test", []report.Suite{
		{Name: "web.nomadtest.hcl", Cases: []report.Case{
			{Class: "web.nomadtest.hcl", Name: "stays up", Took: 12345 * time.Microsecond, Properties: []report.Property{{"virtual_time", "1h0m0s"}}, Out: "hello\n"},
			{
				Class: "web.nomadtest.hcl", Name: `is "restarted" <3 times>`, Took: time.Second, Err: "no\x1b[31m",
				Failures: []report.Failure{{Message: "restart policy changed", Body: "2 == 3\nfalse"}, {Message: "second", Body: "b"}},
			},
		}},
		{Name: "db", Cases: []report.Case{{Class: "db", Name: "late", Skipped: "an earlier run failed"}}},
	}))
	want := `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="taskrun test" tests="3" failures="1" errors="0" skipped="1" time="1.012">
  <testsuite name="web.nomadtest.hcl" tests="2" failures="1" errors="0" skipped="0" time="1.012">
    <testcase classname="web.nomadtest.hcl" name="stays up" time="0.012">
      <properties>
        <property name="virtual_time" value="1h0m0s"></property>
      </properties>
      <system-out><![CDATA[hello
]]></system-out>
    </testcase>
    <testcase classname="web.nomadtest.hcl" name="is &#34;restarted&#34; &lt;3 times&gt;" time="1.000">
      <failure message="restart policy changed"><![CDATA[2 == 3
false

b]]></failure>
      <system-err><![CDATA[no\x1b[31m]]></system-err>
    </testcase>
  </testsuite>
  <testsuite name="db" tests="1" failures="0" errors="0" skipped="1" time="0.000">
    <testcase classname="db" name="late" time="0.000">
      <skipped message="an earlier run failed"></skipped>
    </testcase>
  </testsuite>
</testsuites>
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzJUnit: whatever tasks write, a parser reads the report, and all that XML can
// hold comes back.
func FuzzJUnit(f *testing.F) {
	for _, s := range []string{"plain\n", "\x00\x01\x08\x0b\x1f\x7f", "\xff\xfe", "\ufffe\uffff\ufffd", "]]>", "<![CDATA[", "&amp;\r\n", "\u0085\u009f 😀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := report.JUnit(s, []report.Suite{{Name: s, Cases: []report.Case{{
			Class: s, Name: s, Properties: []report.Property{{s, s}}, Failures: []report.Failure{{s, s}}, Skipped: s, Out: s, Err: s,
		}}}})
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
		if want := 9; s != "" && elements != want {
			t.Errorf("%d elements, want %d", elements, want)
		}
	})
}
