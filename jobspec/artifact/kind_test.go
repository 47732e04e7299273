package artifact_test

import (
	"testing"

	"taskrun/jobspec/artifact"
)

func TestKind(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"https://example.com/x.zip":           "http",
		"HTTP://example.com/x":                "http",
		"http::https://example.com/x":         "http",
		"git::https://example.com/x.git":      "git",
		"git::git@github.com:o/r.git":         "git",
		"git@github.com:o/r.git":              "git",
		"me@host:r":                           "git",
		"ssh://git@host/r":                    "git",
		"github.com/o/r//sub?ref=x":           "git",
		"gitlab.com/o/r":                      "git",
		"bitbucket.org/o/r":                   "git",
		"github.community/x":                  "file",
		"s3::https://host/bucket/x":           "s3",
		"s3.amazonaws.com/bucket/x":           "s3",
		"bucket.s3-eu-west-1.amazonaws.com/x": "s3",
		"https://bucket.s3.amazonaws.com/x":   "http",
		"gcs::https://www.googleapis.com/x":   "gcs",
		"www.googleapis.com/storage/v1/b/x":   "gcs",
		"hg::http://host/r":                   "hg",
		"ftp://host/x":                        "ftp",
		"file:///etc/hosts":                   "file",
		"/etc/hosts":                          "file",
		"./dist/app.tar.gz":                   "file",
		"dist/app":                            "file",
	} {
		if got := artifact.Kind(source); got != want {
			t.Errorf("%s is of kind %q, want %q", source, got, want)
		}
	}
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		"s3::https://x/y": true, "ftp://x/y": true, "${NOMAD_META_url}": false, "https://${attr.cpu.arch}/x": false, "/x": false,
	} {
		if _, got := artifact.Unsupported(source); got != want {
			t.Errorf("%s unsupported: %v", source, got)
		}
	}
}
