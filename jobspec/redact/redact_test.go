package redact_test

import (
	"net/url"
	"strings"
	"testing"

	"taskrun/jobspec/redact"
)

func TestURL(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"https://example.com/x.tgz":                        "https://example.com/x.tgz",
		"https://user:SECRET@example.com/x":                "https://xxxxx@example.com/x",
		"https://SECRET@example.com":                       "https://xxxxx@example.com",
		"https://SECRET:@example.com/a@b":                  "https://xxxxx@example.com/a@b",
		"https://a:SECRET@SECRET@example.com/":             "https://xxxxx@example.com/",
		"https://a:SEC?RET@example.com/":                   "https://xxxxx@example.com/",
		"https://a:SEC RET\"@example.com/":                 "https://xxxxx@example.com/",
		"https://x/y?X-Amz-Signature=SECRET&b=SECRET;c=":   "https://x/y?X-Amz-Signature=xxxxx&b=xxxxx;c=",
		"https://x?SECRET":                                 "https://x?xxxxx",
		"https://x/y#access_token=SECRET":                  "https://x/y#access_token=xxxxx",
		"https://x/y?a=SECRET=SECRET?b=SECRET#SECRET":      "https://x/y?a=xxxxx?b=xxxxx#xxxxx",
		"git::https://u:SECRET@h/r.git//sub?sshkey=SECRET": "git::https://xxxxx@h/r.git//sub?sshkey=xxxxx",
		"git::ssh://git@h/r.git":                           "git::ssh://git@h/r.git",
		"git::ssh://git:SECRET@h/r.git":                    "git::ssh://xxxxx@h/r.git",
		"git@github.com:org/repo.git?ref=v1":               "git@github.com:org/repo.git?ref=xxxxx",
		"git::git@github.com:org/repo.git":                 "git::git@github.com:org/repo.git",
		"u:SECRET@github.com/org/repo":                     "xxxxx@github.com/org/repo",
		"github.com/org/repo?token=SECRET":                 "github.com/org/repo?token=xxxxx",
		"./dir/file":                                       "./dir/file",
		"":                                                 "",
	} {
		if got := redact.URL(source); got != want {
			t.Errorf("URL(%q) = %q, want %q", source, got, want)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"nothing to hide: user@host, a?b=c":                                           "nothing to hide: user@host, a?b=c",
		"the host http://example.com of user@host, and http://other":                  "the host http://example.com of user@host, and http://other",
		`Get "https://u:SECRET@h/x?t=SECRET": dial tcp: refused`:                      `Get "https://xxxxx@h/x?t=xxxxx": dial tcp: refused`,
		"fatal: Authentication failed for 'https://SECRET@h/r.git/'":                  "fatal: Authentication failed for 'https://xxxxx@h/r.git/'",
		"fatal: could not read from 'https://h/r?t=SECRET': no":                       "fatal: could not read from 'https://h/r?t=xxxxx': no",
		"Submodule 'x' (https://u:SECRET@h/x.git) registered for path 'x'":            "Submodule 'x' (https://xxxxx@h/x.git) registered for path 'x'",
		"from https://SECRET@a/ to https://b/?t=SEC'RET,SECRET\nand https://SECRET@c": "from https://xxxxx@a/ to https://b/?t=xxxxx\nand https://xxxxx@c",
	} {
		if got := redact.Text(text); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
}

// FuzzURLs builds URLs of parts, and searches the redacted URL, alone and in a
// text, for the secret ones.
func FuzzURLs(f *testing.F) {
	f.Add("https", "user", "SECRET", "example.com", "/path", "token", "signature")
	f.Add("git::http", "", "p@ss/w?rd", "h:80", "/r.git//sub", "", "a&b=c")
	f.Add("ftp", "tok'en", "", "::1", "", "k", "x#y")
	f.Fuzz(func(t *testing.T, scheme, user, password, host, path, name, value string) {
		odd := func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune("/@?#\"'`<>", c) }
		if strings.ContainsFunc(scheme+host, odd) || strings.HasSuffix(scheme, "ssh") {
			return
		}
		// Credentials as net/url writes them; those that it leaves unchanged are
		// hidden as well.
		info := url.UserPassword(user, password).String()
		query := url.Values{name: {value}}.Encode()
		address := scheme + "://" + info + "@" + host + (&url.URL{Path: "/" + path}).EscapedPath() + "?" + query
		want := scheme + "://" + redact.Hidden + "@" + host + (&url.URL{Path: "/" + path}).EscapedPath() + "?"
		got := redact.URL(address)
		if !strings.HasPrefix(got, want) {
			t.Errorf("URL(%q) = %q, want it to begin with %q", address, got, want)
		}
		_, values, _ := strings.Cut(query, "=")
		if _, shown, _ := strings.Cut(strings.TrimPrefix(got, want), "="); values != "" && shown != redact.Hidden {
			t.Errorf("URL(%q) = %q shows %q", address, got, shown)
		}
		if strings.Contains(scheme+host+path, "://") {
			return // another URL in it
		}
		if text := redact.Text(`Get "` + address + `": no`); text != `Get "`+got+`": no` {
			t.Errorf("in a text: %q, alone: %q", text, got)
		}
		if again := redact.URL(got); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	})
}
