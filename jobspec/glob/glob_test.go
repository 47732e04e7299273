package glob_test

import (
	"strings"
	"testing"
	"time"

	"taskrun/jobspec/glob"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*.go", "main.go", true},
		{"*.go", "a/main.go", false},
		{"**/*.go", "main.go", true},
		{"**/*.go", "a/b/main.go", true},
		{"**/*.go", "a/b/main.c", false},
		{"a/**/b/*.go", "a/b/x.go", true},
		{"a/**/b/*.go", "a/1/2/b/x.go", true},
		{"a/**/b/*.go", "a/1/2/x.go", false},
		{"a/**", "a/1/2", true},
		{"a/**", "a", false},
		{"**", "x", true},
		{"[ab].txt", "b.txt", true},
		{"**/*.go", ".git/main.go", false},
		{"**/*.go", "a/.#main.go", false},
		{"**", ".git/index", false},
		{"**/.env", "a/.env", true},
		{".config/*", ".config/x", true},
		{".config/*", ".config/.x", false},
		{"/a/*.go", "/a/x.go", true},
		{"a", "a/b", false},
		{"a/b", "a", false},
	} {
		if got := glob.Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) is %t", c.pattern, c.name, got)
		}
	}
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{".git", ".git/index", true},
		{".git/", ".git", true},
		{"node_modules", "web/node_modules/a/b.js", true},
		{"*_test.go", "a/b_test.go", true},
		{"web/dist", "web/dist/a/b.js", true},
		{"web/dist", "other/web/dist/b.js", false},
		{"./web/dist", "web/dist/b.js", true},
		{"**/dist/*.map", "a/dist/b.map", true},
		{"vendor", "vendored/x.go", false},
	} {
		if got := glob.Ignored(c.pattern, c.name); got != c.want {
			t.Errorf("Ignored(%q, %q) is %t", c.pattern, c.name, got)
		}
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, base, rest string
		depth               int
	}{
		{"/src/**/*.go", "/src", "**/*.go", -1},
		{"/src/*.go", "/src", "*.go", 0},
		{"src/*/x/*.go", "src", "*/x/*.go", 2},
		{"./src/main.go", "src", "main.go", 0},
		{"/*.go", "/", "*.go", 0},
		{"*.go", ".", "*.go", 0},
		{"../lib/**", "../lib", "**", -1},
	} {
		if base, rest, depth := glob.Base(c.pattern); base != c.base || rest != c.rest || depth != c.depth {
			t.Errorf("Base(%q) is %q, %q, %d", c.pattern, base, rest, depth)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for pattern, ok := range map[string]bool{"**/*.go": true, "a/[b": false, "a[/]b": false, "": false, "a\\": false} {
		if err := glob.Check(pattern); (err == nil) != ok {
			t.Errorf("Check(%q) is %v", pattern, err)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("**/*.go", "a/b.go")
	f.Add("**/**/**/x", "a/a/a/a/a/a/a/a/y")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 100 || len(name) > 100 || strings.Count(pattern, "**") > 4 {
			return
		}
		began := time.Now()
		_ = glob.Check(pattern)
		_, _ = glob.Match(pattern, name), glob.Ignored(pattern, name)
		_, _, _ = glob.Base(pattern)
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("took %v", d)
		}
	})
}
