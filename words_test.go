package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// oddWords are words and phrases that CONTRIBUTING.md rules out, in code,
// comments and documentation: literary words, personification, sentences whose
// subject is a clause, British spelling.
var oddWords = []string{
	`lends?`, `lent`, `lending`, `unlent`, `stand-ins?`, `standins?`,
	`anew`, `thus`, `nay`, `whom`, `whoever`,
	`nobody (?:asks|cares|has|knows|lends|needs|waits|wants)`,
	`passed over`, `what is to be`, `to who`,
	`is told of`, `are told of`, `one too many`, `how things stand`, `makes no sense for`,
	`who (?:dies|orders|reads) [a-z]+`, `that there are not`,
	`tidings`,
	`colour\w*`, `behaviour\w*`, `favourite`,
}

// TestWords finds odd words in texts for readers. Recordings, job files and
// corpora under testdata are excluded.
func TestWords(t *testing.T) {
	t.Parallel()
	var odd []*regexp.Regexp
	for _, words := range oddWords {
		odd = append(odd, regexp.MustCompile(words+`\b`)) // found by its first letters, which \b before them would prevent
	}
	inWord := regexp.MustCompile(`\w$`)
	read := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name == ".git":
			return filepath.SkipDir
		case !d.Type().IsRegular(), name == "words_test.go", name == "LICENSE":
			return nil
		}
		switch filepath.Ext(name) {
		case ".txtar", "":
		case ".go", ".md":
			if strings.Contains(name, "testdata/") {
				return nil
			}
		default:
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		read++
		text = bytes.ToLower(text)
		for _, words := range odd {
			for _, at := range words.FindAllIndex(text, -1) {
				if !inWord.Match(text[max(0, at[0]-1):at[0]]) {
					t.Errorf("%s:%d: %q", name, 1+bytes.Count(text[:at[0]], []byte("\n")), text[at[0]:at[1]])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 500 {
		t.Errorf("only %d files were read", read)
	}
}
