package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestTestsOfSuite(t *testing.T) {
	source := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(source, "api", name), []byte("package api\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(source, "api"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("jobs_test.go", `
func TestJobs(t *testing.T) { c, s := makeClient(t, nil, nil) }
func TestSub(t *testing.T) { t.Run("sub", func(t *testing.T) { makeClient(t, nil, nil) }) }
func TestAgent_Join(t *testing.T) { makeClient(t, nil, nil) }
func TestPure(t *testing.T) {}
func TestSecret(t *testing.T) { makeACLClient(t, nil, nil) }
func makeClient(t *testing.T) {}
`)
	write("other.go", "func TestNot(t *testing.T) { makeClient(t) }\n")
	write("ent_test.go", "func TestNot(t *testing.T) { makeClient(t) }\n")
	enterprise := filepath.Join(source, "api", "ent_test.go")
	text, _ := os.ReadFile(enterprise)
	if err := os.WriteFile(enterprise, append([]byte("//go:build ent\n\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	s := apiSuite(source)
	names := func(opts options) string {
		tests, err := s.tests(opts)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, test := range tests {
			list = append(list, strings.TrimSpace(test.name+" "+test.why))
		}
		return strings.Join(list, ", ")
	}
	every := regexp.MustCompile("")
	if got, want := names(options{only: every}), "TestAgent_Join needs two servers, TestJobs, TestSub"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := names(options{only: regexp.MustCompile("Join"), all: true}), "TestAgent_Join"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results")
	results := []result{
		{test: test{suite: "api", name: "TestA"}, outcome: passed},
		{test: test{suite: "api", name: "TestB"}, outcome: failed},
	}
	if err := writeOutcomes(file, results); err != nil {
		t.Fatal(err)
	}
	expected, err := readOutcomes(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if !compare(&out, expected, results) || out.Len() > 0 {
		t.Errorf("the same outcomes differ: %s", out.String())
	}
	results[1].outcome = passed
	if compare(&out, expected, results) || out.String() != "api TestB: passed, expected: failed\n" {
		t.Errorf("got %q", out.String())
	}
}
