package redact

import (
	"slices"
	"strings"
)

// Values returns a function that replaces secrets of at least `least` bytes in a
// text with a mark, as well as tokens of workload identities; shorter secrets are
// parts of many words. It also hides credentials in URLs.
func Values(secrets []string, least int, mark string) func(string) string {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < least })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, mark)
	}
	known := strings.NewReplacer(pairs...)
	return func(text string) string { return Text(withoutTokens(known.Replace(text), mark)) }
}

// tokenStart begins every JSON web token: it is {" in base64.
const tokenStart = "eyJ"

// withoutTokens replaces JSON web tokens: three parts in base64, joined by dots.
func withoutTokens(text, mark string) string {
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
			b.WriteString(mark)
		} else {
			b.WriteString(text[:end])
		}
		text = text[end:]
	}
}

func inToken(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}
