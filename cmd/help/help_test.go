package help

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTopics(t *testing.T) {
	found, err := fs.Glob(files, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		if !slices.Contains(names, strings.TrimSuffix(name, ".md")) {
			t.Errorf("%s is not a topic", name)
		}
	}
	for _, topic := range Topics() {
		t.Run(topic.Name, func(t *testing.T) {
			if !strings.HasPrefix(topic.Markdown, "# "+topic.Name+": ") {
				t.Fatal("the file does not begin with its name and a summary")
			}
			if n := utf8.RuneCountInString(topic.Summary); n == 0 || n > 60 {
				t.Errorf("the summary has %d characters", n)
			}
			text := topic.Text(func(s string) string { return s })
			if n := strings.Count(text, "\n"); n > 100 && topic.Name != "differences" {
				t.Errorf("%d lines: more than two screens", n)
			}
			for line := range strings.Lines(text) {
				if utf8.RuneCountInString(line) > 81 { // including the newline
					t.Errorf("more than 80 columns: %s", line)
				}
			}
		})
	}
	if _, ok := Find("nope"); ok {
		t.Error("found a topic that is not there")
	}
}

var target = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)

// file matches a file or folder that CONTRIBUTING.md names, except those with a
// placeholder in capital letters.
var file = regexp.MustCompile("`((?:cmd|engine|hooks|drivers|jobspec|testdata|scripts)/[A-Za-z/_.]+)`")

// TestLinks checks that the targets of links in topics and README exist, and so
// do the files that CONTRIBUTING.md names.
func TestLinks(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	check := func(page, text, dir string) {
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(path.Join(dir, m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
			}
		}
	}
	check("README.md", string(readme), "../..")
	contributing, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range file.FindAllStringSubmatch(string(contributing), -1) {
		if _, err := os.Stat(path.Join("../..", m[1])); err != nil && strings.ToLower(m[1]) == m[1] {
			t.Errorf("CONTRIBUTING.md names %s, which does not exist", m[1])
		}
	}
	for _, topic := range Topics() {
		check(topic.Name, topic.Markdown, ".")
		if !strings.Contains(string(readme), "cmd/help/"+topic.Name+".md") {
			t.Errorf("README.md does not link to the topic %s", topic.Name)
		}
	}
}

func TestText(t *testing.T) {
	topic := Topic{Markdown: "# x: y\n\nSee [ports](ports.md).\n\n```console\n$ a # [b](c)\n\n# d\n```\n"}
	got := topic.Text(strings.ToUpper)
	want := "X: Y\n\nSee ports.\n\n    $ a # [b](c)\n\n    # d\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	topic.Markdown += "\n| a | b |\n|---|---|\n| [longer](x.md) | " + strings.Repeat("word ", 20) + "|\n"
	got = strings.TrimPrefix(topic.Text(strings.ToUpper), want)
	want = "\nA       B\nlonger  word word word word word word word word word word word word word word\n        word word word word word word\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
