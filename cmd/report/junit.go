// Package report writes what happened for other programs: values in, bytes out.
package report

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Suite is a group of cases, such as those of one file.
type Suite struct {
	Name       string
	Began      time.Time
	Host       string
	Properties []Property
	Cases      []Case
}

// Case is one run.
type Case struct {
	Class, Name string
	Took        time.Duration // on the clock on the wall
	Failures    []Failed      // it passes without one
	Skipped     string        // why it did not run; empty: it did
	Out, Err    string        // what its tasks wrote
}

// Property is something else that is known of a suite.
type Property struct{ Name, Value string }

// Failed is why a case fails.
type Failed struct {
	Type    string // a word for programs
	Message string // one line
	Body    string // all that helps
}

// JUnit returns suites as JUnit XML, as most CI systems read it: by the schema of
// Jenkins, with the attributes that the schema of Ant requires of a suite. The
// program is the name of the whole.
func JUnit(program string, suites []Suite) []byte {
	all := xmlSuites{Name: clean(program)}
	var total time.Duration
	for i, s := range suites {
		suite := xmlSuite{Name: clean(s.Name), Package: clean(program), ID: i, Host: clean(cmp.Or(s.Host, "localhost")), Tests: len(s.Cases)}
		suite.Began = s.Began.UTC().Format("2006-01-02T15:04:05")
		for _, p := range s.Properties {
			suite.Properties.List = append(suite.Properties.List, xmlProperty{clean(p.Name), clean(p.Value)})
		}
		var took time.Duration
		for _, c := range s.Cases {
			took += c.Took
			switch {
			case len(c.Failures) > 0:
				suite.Failures++
			case c.Skipped != "":
				suite.Skipped++
			}
			suite.Cases = append(suite.Cases, xmlOf(c))
		}
		suite.Time = seconds(took)
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Suites = append(all.Suites, suite)
		total += took
	}
	all.Time = seconds(total)
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		panic(err) // strings and numbers can be encoded
	}
	return bytes.Join([][]byte{[]byte(xml.Header), text, []byte("\n")}, nil)
}

func xmlOf(c Case) xmlCase {
	x := xmlCase{Class: clean(c.Class), Name: clean(c.Name), Time: seconds(c.Took), Out: text(c.Out), Err: text(c.Err)}
	switch {
	case len(c.Failures) > 0: // most readers take one
		var bodies []string
		for _, f := range c.Failures {
			bodies = append(bodies, clean(f.Body))
		}
		first := c.Failures[0]
		x.Failure = &xmlFailure{Message: clean(first.Message), Type: clean(cmp.Or(first.Type, "failure")), Body: strings.Join(bodies, "\n\n")}
	case c.Skipped != "":
		x.Skipped = &xmlSkipped{clean(c.Skipped)}
	}
	return x
}

func text(s string) *xmlText {
	if s == "" {
		return nil
	}
	return &xmlText{clean(s)}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

// clean replaces what XML cannot hold: control characters become their Go
// spelling, and bytes that are not UTF-8 the replacement character.
func clean(s string) string {
	if !strings.ContainsFunc(s, forbidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, string(utf8.RuneError)) {
		if forbidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// forbidden reports whether a character is not one of XML 1.0; see
// https://www.w3.org/TR/xml/#charsets. Carriage returns are allowed, but readers
// take them for line feeds.
func forbidden(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff
}

type (
	xmlSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Time     string     `xml:"time,attr"`
		Suites   []xmlSuite `xml:"testsuite"`
	}
	xmlSuite struct {
		Name       string        `xml:"name,attr"`
		Package    string        `xml:"package,attr"`
		ID         int           `xml:"id,attr"`
		Began      string        `xml:"timestamp,attr"`
		Host       string        `xml:"hostname,attr"`
		Tests      int           `xml:"tests,attr"`
		Failures   int           `xml:"failures,attr"`
		Errors     int           `xml:"errors,attr"`
		Skipped    int           `xml:"skipped,attr"`
		Time       string        `xml:"time,attr"`
		Properties xmlProperties `xml:"properties"`
		Cases      []xmlCase     `xml:"testcase"`
	}
	xmlCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Time    string      `xml:"time,attr"`
		Skipped *xmlSkipped `xml:"skipped"`
		Failure *xmlFailure `xml:"failure"`
		Out     *xmlText    `xml:"system-out"`
		Err     *xmlText    `xml:"system-err"`
	}
	xmlProperties struct {
		List []xmlProperty `xml:"property"`
	}
	xmlProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	xmlSkipped struct {
		Message string `xml:"message,attr"`
	}
	xmlFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Body    string `xml:",cdata"`
	}
	xmlText struct {
		Body string `xml:",cdata"`
	}
)
