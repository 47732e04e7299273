// Package report writes what happened for other programs: values in, bytes out.
package report

import (
	"bytes"
	"encoding/xml"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Suite is a group of cases, such as those of one file.
type Suite struct {
	Name  string
	Cases []Case
}

// Case is one run.
type Case struct {
	Class, Name string
	Took        time.Duration // on the clock on the wall
	Properties  []Property
	Failures    []Failure // it passes without one
	Skipped     string    // why it did not run; empty: it did
	Out, Err    string    // what its tasks wrote
}

// Property is something else that is known of a case.
type Property struct{ Name, Value string }

// Failure is why a case fails.
type Failure struct {
	Message string // one line
	Body    string // all that helps
}

// JUnit returns suites as JUnit XML, as most CI systems read it. The program is the
// name of the whole.
func JUnit(program string, suites []Suite) []byte {
	all := xmlSuites{Name: clean(program)}
	var total time.Duration
	for _, s := range suites {
		suite := xmlSuite{Name: clean(s.Name), Tests: len(s.Cases)}
		var took time.Duration
		for _, c := range s.Cases {
			took += c.Took
			if len(c.Failures) > 0 {
				suite.Failures++
			}
			if c.Skipped != "" {
				suite.Skipped++
			}
			suite.Cases = append(suite.Cases, xmlOf(c))
		}
		suite.Time = seconds(took)
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Skipped += suite.Skipped
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
	if len(c.Properties) > 0 {
		x.Properties = &xmlProperties{}
	}
	for _, p := range c.Properties {
		x.Properties.List = append(x.Properties.List, xmlProperty{clean(p.Name), clean(p.Value)})
	}
	if c.Skipped != "" {
		x.Skipped = &xmlSkipped{clean(c.Skipped)}
	}
	if len(c.Failures) > 0 { // most readers take one
		var bodies []string
		for _, f := range c.Failures {
			bodies = append(bodies, clean(f.Body))
		}
		x.Failure = &xmlFailure{Message: clean(c.Failures[0].Message), Body: strings.Join(bodies, "\n\n")}
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
	switch {
	case r == '\t', r == '\n':
		return false
	}
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff
}

type (
	xmlSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Time     string     `xml:"time,attr"`
		Suites   []xmlSuite `xml:"testsuite"`
	}
	xmlSuite struct {
		Name     string    `xml:"name,attr"`
		Tests    int       `xml:"tests,attr"`
		Failures int       `xml:"failures,attr"`
		Errors   int       `xml:"errors,attr"`
		Skipped  int       `xml:"skipped,attr"`
		Time     string    `xml:"time,attr"`
		Cases    []xmlCase `xml:"testcase"`
	}
	xmlCase struct {
		Class      string         `xml:"classname,attr"`
		Name       string         `xml:"name,attr"`
		Time       string         `xml:"time,attr"`
		Properties *xmlProperties `xml:"properties"`
		Skipped    *xmlSkipped    `xml:"skipped"`
		Failure    *xmlFailure    `xml:"failure"`
		Out        *xmlText       `xml:"system-out"`
		Err        *xmlText       `xml:"system-err"`
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
		Message string `xml:"message,attr"`
		Body    string `xml:",cdata"`
	}
	xmlText struct {
		Body string `xml:",cdata"`
	}
)
