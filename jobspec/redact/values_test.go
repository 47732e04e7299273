package redact_test

import (
	"testing"

	"taskrun/jobspec/redact"
)

func TestValues(t *testing.T) {
	t.Parallel()
	hide := redact.Values([]string{"", "hunter2", "hunter2000", "abc", "two\nlines", "hunter2"}, 4, "(hidden)")
	for text, want := range map[string]string{
		"hunter2000, hunter2, hunter3":           "(hidden), (hidden), hunter3",
		"abcd":                                   "abcd",
		"of two\nlines.":                         "of (hidden).",
		"https://me:pw@example.com/":             "https://xxxxx@example.com/",
		"is eyJhbGciOiJSUzI1.eyJpYXQi.c2ln here": "is (hidden) here",
		"eyJhbGciOiJSUzI1 eyJ.x":                 "eyJhbGciOiJSUzI1 eyJ.x",
		"":                                       "",
	} {
		if got := hide(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
