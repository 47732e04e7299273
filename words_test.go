package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// oddWords are words and phrases that CONTRIBUTING.md rules out, in code,
// comments and documentation: literary words, personification, sentences whose
// subject is a clause, British spelling.
var oddWords = regexp.MustCompile(`(?i)\b(?:` + strings.Join([]string{
	`lends?`, `lent`, `lending`, `unlent`, `stand-ins?`, `standins?`,
	`anew`, `thus`, `nay`, `whom`, `whoever`,
	`nobody (?:asks|cares|has|knows|lends|needs|waits|wants)`,
	`is told of`, `are told of`, `one too many`, `how things stand`, `makes no sense for`,
	`who (?:dies|orders|reads) [a-z]+`, `that there are not`,
	`tidings`,
	`colour\w*`, `behaviour\w*`, `favourite`,
}, "|") + `)\b`)

// TestWords keeps odd words out of what people read. Recordings, job files and
// corpora under testdata are not ours to word.
func TestWords(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "ls-files", "-z", "*.go", "*.md", "*.txtar", "scripts/*", ".ci/*").Output()
	if err != nil {
		t.Skipf("no git checkout: %v", err)
	}
	read := 0
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name == "words_test.go" || strings.Contains(name, "testdata/") && filepath.Ext(name) != ".txtar" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue // deleted, and not committed yet
		}
		read++
		for n, line := range bytes.Split(text, []byte("\n")) {
			for _, word := range oddWords.FindAll(line, -1) {
				t.Errorf("%s:%d: %q", name, n+1, word)
			}
		}
	}
	if read < 500 {
		t.Errorf("only %d files were read", read)
	}
}
