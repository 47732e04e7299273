// Package redact hides secrets in texts and jobs. Of URLs it hides user information,
// and the values of queries and fragments. Every URL that is shown or stored must
// pass through it.
package redact

import "strings"

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

// hide hides the credentials in what follows a scheme.
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

// hideQuery hides the values of a query, and a fragment.
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
