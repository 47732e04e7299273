// Package help contains the topics of "taskrun help" as Markdown, and formats
// them for a terminal.
package help

import (
	"embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed *.md
var files embed.FS

// names are the topics in reading order.
var names = []string{
	"jobs", "exec", "output", "many", "ui", "exit-codes", "ci", "stubs", "rehearse", "watch", "test",
	"config", "drivers", "docker", "podman", "templates", "artifacts", "volumes", "ports",
	"files", "updates", "agent", "api", "clusters", "security", "differences",
}

// Topic is a page of help.
type Topic struct {
	Name     string
	Summary  string // at most 60 characters
	Markdown string
}

// Topics returns all topics in reading order.
func Topics() []Topic {
	topics := make([]Topic, 0, len(names))
	for _, name := range names {
		t, _ := Find(name) // a test finds them all
		topics = append(topics, t)
	}
	return topics
}

// Find returns the topic with a name, and whether it exists.
func Find(name string) (Topic, bool) {
	if !slices.Contains(names, name) {
		return Topic{}, false
	}
	text, err := files.ReadFile(name + ".md")
	title, _, _ := strings.Cut(string(text), "\n")
	_, summary, _ := strings.Cut(title, ": ")
	return Topic{Name: name, Summary: summary, Markdown: string(text)}, err == nil
}

// Names returns the names of all topics in reading order.
func Names() []string { return slices.Clone(names) }

// link matches a Markdown link and its text.
var link = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^]]+)]\([^)]+\)`) })

// Text formats a topic for a terminal of 80 columns: headings pass through
// bold, code is indented instead of fenced, tables are aligned, and links are
// reduced to their text.
func (t Topic) Text(bold func(string) string) string {
	var out strings.Builder
	var rows []string
	fenced := false
	for line := range strings.Lines(t.Markdown) {
		line = strings.TrimSuffix(line, "\n")
		if !fenced {
			line = link().ReplaceAllString(line, "$1")
		}
		if !fenced && strings.HasPrefix(line, "|") {
			rows = append(rows, line)
			continue
		}
		if rows != nil {
			out.WriteString(table(rows, bold))
			rows = nil
		}
		switch heading := strings.TrimLeft(line, "#"); {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
			continue
		case fenced && line != "":
			line = "    " + line
		case !fenced && heading != line:
			line = bold(strings.TrimSpace(heading))
		}
		out.WriteString(line + "\n")
	}
	if rows != nil {
		out.WriteString(table(rows, bold))
	}
	return out.String()
}
