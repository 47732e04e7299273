package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// suite is one of the two foreign suites.
type suite struct {
	name string
	dir  string // of the package with the tests; empty: the suite is not run
	// program is the built test program.
	program string
	// client is the function that each test with an agent calls; empty: all tests
	// are run.
	client string
	// strange lists the tests that are left out, with the reason.
	strange []reason
	// ownAgent: the tests start agents themselves.
	ownAgent bool
}

// reason says why tests whose names match are left out.
type reason struct {
	names *regexp.Regexp
	why   string
}

func because(why string, names ...string) reason {
	return reason{regexp.MustCompile(`^(?:` + strings.Join(names, "|") + `)$`), why}
}

func apiSuite(source string) suite {
	s := suite{name: "api", client: "makeClient", ownAgent: true, strange: []reason{
		because("needs ACLs", "TestACL.*"),
		because("needs two servers", "TestAgent_Join", "TestAgent_ForceLeave(Prune)?", "TestRegionsList"),
		because("needs Raft", "TestOperator_Raft.*"),
		because("configures the workers of a scheduler", "TestAgent_SchedulerWorker.*"),
		because("pauses the evaluation broker", "TestEvaluations_Delete"),
		because("rotates keys of a keyring", "TestKeyring_CRUD"),
		because("renews the identity of a client", "TestNodes?_?Identity.*"),
		because("moves allocations to other nodes", "TestNodes_Purge", "TestNodes_ForceEvaluate", "TestNodes_ToggleDrain"),
		because("needs a server without a client", "TestDeployments_Allocations", "TestEvaluations_List"),
	}}
	if source != "" {
		s.dir = filepath.Join(source, "api")
	}
	return s
}

func providerSuite(source string) suite {
	s := suite{name: "provider", strange: []reason{
		because("needs ACLs", ".*A(CL|cl).*"),
		because("needs Nomad Enterprise", ".*(Quota|Sentinel).*"),
		because("registers a job without a main task, which Nomad refuses, too", "TestResourceJob_lifecycle"),
	}}
	if source != "" {
		s.dir = filepath.Join(source, "nomad")
	}
	return s
}

func (s *suite) build(ctx context.Context, scratch string) error {
	s.program = filepath.Join(scratch, s.name+".test")
	c := exec.CommandContext(ctx, "go", "test", "-c", "-o", s.program, ".")
	c.Dir, c.Stderr = s.dir, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("cannot build the tests in %s: %w", s.dir, err)
	}
	return nil
}

// test is a test of a suite.
type test struct {
	suite, name string
	why         string // it is left out, or ""
}

// tests returns the tests of the suite, by name.
func (s *suite) tests(opts options) ([]test, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	var list []test
	for _, file := range files {
		if built, err := build.Default.MatchFile(s.dir, filepath.Base(file)); err != nil || !built {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !opts.only.MatchString(f.Name.Name) || !s.has(f) {
				continue
			}
			t := test{suite: s.name, name: f.Name.Name}
			if !opts.all {
				t.why = s.why(t.name)
			}
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b test) int { return strings.Compare(a.name, b.name) })
	if len(list) == 0 {
		err = errors.New("no tests in " + s.dir)
	}
	return list, err
}

// has reports whether f is a test that calls the function for clients of an
// agent, in itself or in one of its subtests.
func (s *suite) has(f *ast.FuncDecl) (calls bool) {
	if f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
		return false
	}
	calls = s.client == ""
	ast.Inspect(f, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		calls = calls || ok && id.Name == s.client
		return !calls
	})
	return calls
}

func (s *suite) why(name string) string {
	for _, r := range s.strange {
		if r.names.MatchString(name) {
			return r.why
		}
	}
	return ""
}

func (t test) String() string { return t.suite + " " + t.name }
