package record

import (
	"slices"
	"strings"

	"taskrun/jobspec/redact"
)

// minSecret is the length of the shortest value that is hidden, in bytes: a shorter
// one is part of many words.
const minSecret = 6

// cleaner returns a function that removes secrets from a text: values that are
// known, credentials in URLs, and tokens of workload identities.
func cleaner(secrets []string) func(string) string {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
	var pairs []string
	for _, s := range slices.Compact(secrets) {
		pairs = append(pairs, s, redact.Hidden)
	}
	known := strings.NewReplacer(pairs...)
	return func(text string) string { return redact.Text(withoutTokens(known.Replace(text))) }
}

// tokenStart begins every JSON web token: it is {" in base64.
const tokenStart = "eyJ"

// withoutTokens hides JSON web tokens: three parts in base64, joined by dots.
func withoutTokens(text string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, tokenStart)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i:]
		end := strings.IndexFunc(text, func(r rune) bool { return !inToken(r) })
		if end < 0 {
			end = len(text)
		}
		if strings.Count(text[:end], ".") >= 2 {
			b.WriteString(redact.Hidden)
		} else {
			b.WriteString(text[:end])
		}
		text = text[end:]
	}
}

func inToken(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}
