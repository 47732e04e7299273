// Package redact hides secrets in texts and jobs. Of URLs it hides user information,
// and the values of queries and fragments. Every URL that is shown or stored must
// pass through it.
package redact

import (
	"slices"
	"strings"
)

// Hidden replaces credentials, like in package net/url.
const Hidden = "xxxxx"

// URL returns a URL, or the source of an artifact, without credentials. Unlike
// Text it treats all of s as one URL, which need not be valid or have a scheme.
func URL(s string) string {
	before, after, ok := strings.Cut(s, "://")
	if ok {
		return before + "://" + hide(before, after)
	}
	// Without a scheme it is "user@host:path", which git treats as ssh, or a
	// plain path.
	if kind, rest, ok := strings.Cut(s, "::"); ok {
		return kind + "::" + hide("ssh", rest)
	}
	return hide("ssh", s)
}

// Text returns a text, such as an error, without the credentials of URLs in it.
func Text(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "://")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		n := extent(after)
		b.WriteString("://" + hide(before, after[:n]))
		s = after[n:]
	}
}

// extent returns how much of the text after "://" belongs to the URL, in case
// of doubt rather too much.
func extent(s string) int {
	for i, c := range s {
		switch {
		case c <= ' ' || c == 0x7f || strings.ContainsRune("\"`<>", c):
			return i
		case c == '\'' && (i+1 == len(s) || strings.IndexByte(" :;,.)\n", s[i+1]) >= 0):
			return i // the end of a quoted URL
		}
	}
	return len(s)
}

// hide hides the credentials in the part of a URL after the scheme.
func hide(scheme, s string) string {
	host, path := s, ""
	if i := strings.IndexByte(s, '/'); i >= 0 {
		host, path = s[:i], s[i:]
	}
	at := strings.LastIndexByte(host, '@')
	if at < 0 {
		return hideQuery(s)
	}
	user, _, password := strings.Cut(host[:at], ":")
	// The user name of ssh is no secret: "git@github.com:org/repo".
	if password || !strings.HasSuffix(scheme, "ssh") {
		user = Hidden
	}
	return user + host[at:] + hideQuery(path)
}

func hideQuery(s string) string {
	i := strings.IndexAny(s, "?#")
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for s = s[i:]; s != ""; {
		end := strings.IndexAny(s[1:], "?&;#") + 1
		if end == 0 {
			end = len(s)
		}
		b.WriteByte(s[0])
		name, value, ok := strings.Cut(s[1:end], "=")
		switch {
		case ok && value != "":
			b.WriteString(name + "=" + Hidden)
		case !ok && name != "":
			b.WriteString(Hidden)
		default:
			b.WriteString(s[1:end])
		}
		s = s[end:]
	}
	return b.String()
}

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
