package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// Only tests that reach the statement of a mutant are run. Their coverage is
// measured once for a commit.
func TestCoverage(t *testing.T) {
	module(t)
	if err := os.WriteFile("b/c_test.go", []byte("package b\n\nimport \"testing\"\n\nfunc TestOther(t *testing.T) { t.Run(\"sub\", func(*testing.T) {}) }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git: %v: %s", err, out)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "x")
	o := options{seed: 1, n: 100, parallel: 2, packages: "./...", timeout: time.Minute, coverage: "coverage"}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{
		" m/b TestOther\n", " m/b TestOther/sub\n",
		"caught     a/a.go:3:38 Tested: negate `+` → `-`", "caught     a/a.go:5:21 Seen: drop `*p = 3`",
		"\nsurvived: a/a.go:7:39 Unseen: negate `!=` → `==`  " + untested + "\n",
		"all      5        3       2         60\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	c, err := measure(t.Context(), o.coverage, 2, 0, &out)
	if err != nil {
		t.Fatal(err)
	}
	var tests []string
	for _, u := range c.units {
		tests = append(tests, u.Package+" "+u.Test)
	}
	slices.Sort(tests)
	if want := []string{"m/a Test", "m/b Test", "m/b TestOther/sub"}; !slices.Equal(tests, want) {
		t.Errorf("units %q, want %q", tests, want)
	}
	if n := strings.Count(out.String(), "measured "); n != 6 {
		t.Errorf("%d measurements, want 6", n)
	}
	if t.Failed() {
		t.Logf("%s", &out)
	}
	git("rm", "-q", "--cached", "a/a.go")
	if err := run(t.Context(), o, &out); err == nil || !strings.Contains(err.Error(), "commit your changes") {
		t.Errorf("with changes: %v", err)
	}
}

// A mutant runs with the statement around it, and the cases of a switch with
// the switch.
func TestStatements(t *testing.T) {
	for body, want := range map[string]position{
		"x := 1\n\tg(1 + x)":                                    {4, 2},
		"switch x {\n\tcase 1 + x:\n\t}":                        {3, 2},
		"switch x {\n\tcase 1:\n\t\tg(1 + x)\n\t}":              {5, 3},
		"select {\n\tcase c <- 1 + x:\n\t}":                     {3, 2},
		"select {\n\tcase <-c:\n\t\tg(1 + x)\n\t}":              {5, 3},
		"if x {\n\t} else if y == 1+x {\n\t}":                   {4, 9},
		"for i := range 1 + x {\n\t}":                           {3, 2},
		"f(func() {\n\t\tg()\n\t\th(1 + x)\n\t},\n\t\ty)":       {5, 3},
		"f(func() {\n\t\tg()\n\t},\n\t\t1 + x)":                 {3, 2},
		"switch {\n\tcase f(func() {\n\t\tg(1 + x)\n\t}):\n\t}": {5, 3},
	} {
		found, err := mutants("p.go", []byte("package p\nfunc f() {\n\t"+body+"\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(found, func(m mutant) bool { return m.old == "+" })
		if i < 0 || found[i].statement != want {
			t.Errorf("%s: %+v, want %v", body, found, want)
		}
	}
	found, err := mutants("p.go", []byte("package p\nvar x = 1 + y\n"))
	if err != nil || len(found) != 1 || found[0].statement != (position{}) {
		t.Errorf("outside of functions: %+v, %v", found, err)
	}
}

// The tests of the package come first, then those of others, the shortest
// first, some at a time.
func TestBatches(t *testing.T) {
	ran := map[string][]block{"a/x.go": {{{3, 5}, {6, 2}}}}
	other := map[string][]block{"a/x.go": {{{6, 2}, {9, 1}}}}
	c := &coverage{units: []*unit{
		{Package: "b", Test: "TestB", Seconds: 3, Blocks: ran},
		{Package: "b", Test: "TestC", Seconds: 2, Blocks: ran},
		{Package: "b", Test: "TestJ/slow", Seconds: 9, Blocks: ran},
		{Package: "b", Test: "TestJ/a.b", Seconds: 1, Blocks: ran},
		{Package: "b", Test: "TestJ/not", Seconds: 1, Blocks: other},
		{Package: "c", Seconds: 1, Blocks: ran},
		{Package: "d", Seconds: 1, Blocks: other},
		{Package: "a", Seconds: 99, Blocks: other},
	}}
	shown := func(m mutant) (out []string) {
		for _, b := range c.batches(m, "a") {
			out = append(out, b[0].Package+" "+b.pattern())
		}
		return out
	}
	m := mutant{file: "a/x.go", statement: position{3, 5}}
	want := []string{"a .", "c .", "b ^(TestC|TestB)$", `b ^TestJ$/^(a\.b|slow)$`}
	if got := shown(m); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	m.statement = position{6, 2} // where one block ends and the next begins
	if got, want := shown(m), []string{"a .", "b ^TestJ$/^(not)$", "d ."}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	m.statement = position{9, 1}
	if got, want := shown(m), []string{"a ."}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	whole := &unit{Package: "a", Parts: []string{"TestA"}}
	c.whole = map[string]*unit{"a": whole, "b": {Package: "b", Parts: []string{"TestB"}}, "c": {Package: "c"}}
	got := c.around(&pkg{ImportPath: "a", importers: []string{"b", "c", "d"}})
	if len(got) != 2 || got[0][0] != whole || got[1][0].Package != "c" {
		t.Errorf("around a: %v", got)
	}
	m.statement = position{}
	if got := shown(m); len(got) != 5 {
		t.Errorf("outside of functions: %q", got)
	}
	c.units = nil
	for range atOnce + 1 {
		c.units = append(c.units, &unit{Package: "b", Test: "TestB", Blocks: ran})
	}
	m.statement = position{4, 1}
	if got := c.batches(m, "a"); len(got) != 2 || len(got[0]) != atOnce || len(got[1]) != 1 {
		t.Errorf("batches %v", got)
	}
}
