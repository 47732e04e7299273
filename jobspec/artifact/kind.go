// Package artifact classifies the sources of artifacts.
// See https://developer.hashicorp.com/nomad/docs/job-specification/artifact.
package artifact

import (
	"regexp"
	"strings"
	"sync"
)

// Kinds of sources that can be downloaded here.
const (
	HTTP = "http"
	Git  = "git"
	File = "file" // a file of this machine, which Nomad refuses
)

var (
	forced = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9]+)::(.+)$`) })
	scheme = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):`) })
	scp    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^/@:]+@[^/:]+:`) })
)

// Forced splits "kind::rest"; kind may be empty.
func Forced(source string) (kind, rest string) {
	if m := forced().FindStringSubmatch(source); m != nil {
		return strings.ToLower(m[1]), m[2]
	}
	return "", source
}

// Kind returns the method to download a source: one of the constants, Nomad's
// name for it ("s3", "gcs", "hg"), or an unknown scheme.
func Kind(source string) string {
	kind, rest := Forced(source)
	if kind == "" {
		kind = guess(rest)
	}
	switch kind {
	case "https":
		return HTTP
	case "ssh":
		return Git
	}
	return kind
}

// guess returns the kind that Nomad assumes for a source without an explicit
// one.
func guess(source string) string {
	host, _, _ := strings.Cut(source, "/")
	switch {
	case scp().MatchString(source):
		return Git
	case scheme().MatchString(source):
		return strings.ToLower(scheme().FindStringSubmatch(source)[1])
	case host == "github.com", host == "gitlab.com", host == "bitbucket.org":
		return Git
	case strings.Contains(source, ".amazonaws.com/"):
		return "s3"
	case strings.Contains(source, ".googleapis.com/"):
		return "gcs"
	}
	return File
}

// IsSSH reports whether a source is a git repository that is reached by ssh.
func IsSSH(source string) bool {
	_, rest := Forced(source)
	return Kind(source) == Git && (scp().MatchString(rest) || strings.HasPrefix(strings.ToLower(rest), "ssh:"))
}

// IsSecret reports whether the value of an option may not be shown.
func IsSecret(option string) bool {
	switch option {
	case "archive", "checksum", "depth", "filename", "ref":
		return false
	}
	return true
}

// Unsupported reports whether a source can never be downloaded here. It returns
// false if the kind is only known when the task runs.
func Unsupported(source string) (kind string, yes bool) {
	if strings.HasPrefix(source, "${") {
		return "", false
	}
	kind = Kind(source)
	return kind, kind != HTTP && kind != Git && kind != File
}
