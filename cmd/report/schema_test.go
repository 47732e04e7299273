package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An element of the schema with which Jenkins checks JUnit reports, with the
// additional requirements of Ant's schema. Attributes with a star are required.
type schemaElement struct {
	attributes string
	children   string // in this order
}

var schema = map[string]schemaElement{
	"testsuites": {"name* tests* failures* errors* time*", "testsuite"},
	"testsuite":  {"name* package* id* timestamp* hostname* tests* failures* errors* skipped time*", "properties testcase"},
	"properties": {"", "property"},
	"property":   {"name* value*", ""},
	"testcase":   {"classname* name* time*", "skipped failure system-out system-err"},
	"skipped":    {"message", ""},
	"failure":    {"type* message", ""},
	"system-out": {"", ""},
	"system-err": {"", ""},
}

var attributeForms = map[string]*regexp.Regexp{
	"time":      regexp.MustCompile(`^\d+\.\d{3}$`),
	"timestamp": regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`),
	"hostname":  regexp.MustCompile(`.`),
	"name":      regexp.MustCompile(`.`),
	"id":        regexp.MustCompile(`^\d+$`),
}

// node is an element of a report.
type node struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []*node    `xml:",any"`
}

func (n *node) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (n *node) number(t *testing.T, name string) int {
	t.Helper()
	v, err := strconv.Atoi(n.attr(name))
	if err != nil {
		t.Errorf("%s: %s is %q", n.XMLName.Local, name, n.attr(name))
	}
	return v
}

// conforms checks a report by the rules of the schemas, and that its counts are
// those of its cases.
func conforms(t *testing.T, text []byte) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(string(text)))
	root := &node{}
	if err := dec.Decode(root); err != nil {
		t.Fatal(err)
	}
	if _, err := dec.Token(); err != nil && !errors.Is(err, io.EOF) {
		if _, err = dec.Token(); !errors.Is(err, io.EOF) {
			t.Errorf("there is more behind the report: %v", err)
		}
	}
	if root.XMLName.Local != "testsuites" {
		t.Errorf("the root is %q", root.XMLName.Local)
	}
	valid(t, root)
	total := counts{}
	for i, suite := range root.Children {
		if suite.number(t, "id") != i {
			t.Errorf("suite %d has the ID %s", i, suite.attr("id"))
		}
		sum := counts{}
		for _, c := range suite.Children {
			sum.add(c)
		}
		if got := (counts{suite.number(t, "tests"), suite.number(t, "failures"), suite.number(t, "skipped")}); got != sum {
			t.Errorf("suite %q counts %+v, it has %+v", suite.attr("name"), got, sum)
		}
		total.tests += sum.tests
		total.failures += sum.failures
	}
	if root.number(t, "tests") != total.tests || root.number(t, "failures") != total.failures || root.number(t, "errors") != 0 {
		t.Errorf("the report counts %s tests and %s failures, it has %+v", root.attr("tests"), root.attr("failures"), total)
	}
}

type counts struct{ tests, failures, skipped int }

func (c *counts) add(n *node) {
	if n.XMLName.Local != "testcase" {
		return
	}
	c.tests++
	for _, child := range n.Children {
		switch child.XMLName.Local {
		case "failure":
			c.failures++
		case "skipped":
			c.skipped++
		}
	}
}

// valid checks an element and those below it.
func valid(t *testing.T, n *node) {
	t.Helper()
	name := n.XMLName.Local
	rules, ok := schema[name]
	if !ok {
		t.Errorf("element %q is not in the schema", name)
	}
	known := strings.Fields(rules.attributes)
	for _, a := range n.Attrs {
		if !slices.Contains(known, a.Name.Local) && !slices.Contains(known, a.Name.Local+"*") {
			t.Errorf("%s: attribute %q is not in the schema", name, a.Name.Local)
		}
		if form := attributeForms[a.Name.Local]; form != nil && name != "property" && !form.MatchString(a.Value) {
			t.Errorf("%s: %s is %q", name, a.Name.Local, a.Value)
		}
	}
	for _, a := range known {
		required, is := strings.CutSuffix(a, "*")
		if is && !slices.ContainsFunc(n.Attrs, func(have xml.Attr) bool { return have.Name.Local == required }) {
			t.Errorf("%s has no attribute %q", name, required)
		}
	}
	order, last, seen := strings.Fields(rules.children), 0, map[string]int{}
	for _, c := range n.Children {
		kind := c.XMLName.Local
		at := slices.Index(order, kind)
		if at < last {
			t.Errorf("%s: %q is not allowed, or not in this place", name, kind)
			continue
		}
		last = at
		seen[kind]++
		valid(t, c)
	}
	if name == "testsuite" && seen["properties"] != 1 {
		t.Errorf("a suite has %d lists of properties", seen["properties"])
	}
	if name == "testcase" && (seen["failure"]+seen["skipped"] > 1 || seen["system-out"] > 1 || seen["system-err"] > 1) {
		t.Errorf("a case has %v", seen)
	}
}
