package cmd

import (
	"encoding/xml"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// junit FILE CLASS NAME [TEXT] reads a report in JUnit XML: it has a case of that
// class and name, which fails with the text in its body, or else passes.
func junit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: junit FILE CLASS NAME [TEXT]")
	}
	var report struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Class   string `xml:"classname,attr"`
				Name    string `xml:"name,attr"`
				Out     string `xml:"system-out"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Body    string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(ts.ReadFile(args[0])), &report); err != nil {
		ts.Fatalf("%v", err)
	}
	for _, s := range report.Suites {
		failures := 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				failures++
			}
		}
		if s.Tests != len(s.Cases) || s.Failures != failures {
			ts.Fatalf("suite %s counts %d tests and %d failures, it has %d and %d", s.Name, s.Tests, s.Failures, len(s.Cases), failures)
		}
		for _, c := range s.Cases {
			switch {
			case c.Class != args[1] || c.Name != args[2]:
				continue
			case len(args) == 3 && c.Failure != nil:
				ts.Fatalf("it fails: %s", c.Failure.Body)
			case len(args) == 4 && c.Failure == nil:
				ts.Fatalf("it passes")
			case len(args) == 4 && !strings.Contains(c.Failure.Message+c.Failure.Body+c.Out, args[3]):
				ts.Fatalf("there is no %q in %s\n%s\n%s", args[3], c.Failure.Message, c.Failure.Body, c.Out)
			}
			return
		}
	}
	ts.Fatalf("there is no such case")
}
