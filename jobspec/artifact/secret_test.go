package artifact_test

import (
	"testing"

	"taskrun/jobspec/artifact"
)

// A key is only needed for repositories that are reached by ssh.
func TestIsSSH(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		"git::git@github.com:o/r.git":   true,
		"git@github.com:o/r.git":        true,
		"ssh://git@host/r":              true,
		"SSH://git@host/r":              true,
		"git::ssh://git@host/r":         true,
		"GIT::ssh://git@host/r":         true,
		"git::https://example.com/x":    false,
		"github.com/o/r":                false,
		"hg::ssh://host/r":              false,
		"http::git@github.com:o/r":      false,
		"https://example.com/ssh://x":   false,
		"dir/git@host:r":                false,
		"file:///etc/hosts":             false,
		"https://user@example.com:80/x": false,
	} {
		if got := artifact.IsSSH(source); got != want {
			t.Errorf("%s is reached by ssh: %v", source, got)
		}
	}
}

// Only options that are known to be harmless are shown.
func TestIsSecret(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]bool{
		"archive": false, "checksum": false, "depth": false, "filename": false, "ref": false,
		"sshkey": true, "aws_access_key_secret": true, "aws_access_token": true, "Ref": true, "": true, "unknown": true,
	} {
		if got := artifact.IsSecret(option); got != want {
			t.Errorf("option %q is secret: %v", option, got)
		}
	}
}

func TestForced(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][2]string{
		"git::https://x/y": {"git", "https://x/y"},
		"S3::x":            {"s3", "x"},
		"git::hg::x":       {"git", "hg::x"},
		"git::":            {"", "git::"},
		"::x":              {"", "::x"},
		"a-b::x":           {"", "a-b::x"},
		"https://x/a::b":   {"", "https://x/a::b"},
		"":                 {"", ""},
	} {
		if kind, rest := artifact.Forced(source); kind != want[0] || rest != want[1] {
			t.Errorf("%q is split into %q and %q, want %q", source, kind, rest, want)
		}
	}
}
