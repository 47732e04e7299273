package validate

import (
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/artifact"
	"taskrun/jobspec/redact"
)

func (t *task) artifacts() {
	for a, at := range blocks(t.t.Artifacts, "artifact", t.at) {
		t.artifact(a, at)
	}
}

// artifact checks one download.
// https://developer.hashicorp.com/nomad/docs/job-specification/artifact
func (t *task) artifact(a *api.TaskArtifact, at jobspec.Path) {
	switch source := deref(a.GetterSource); {
	case source == "":
		t.refuse(at, "artifact has no source", "", `add source = "https://…"`)
	case artifact.Kind(source) == artifact.File && !strings.HasPrefix(source, "${"):
		t.warn(at.Attr("source"), "source is a local file", fmt.Sprintf("%q; Nomad downloads from servers only", redact.URL(source)), "")
	}
	t.choice(at.Attr("mode"), "artifact mode", deref(a.GetterMode), "", "any", "file", "dir")
	t.destination(deref(a.RelativeDest), at)
	if name := deref(a.RelativeDest); deref(a.GetterMode) == "file" && strings.Contains(name, "?") && name == path.Join("local", path.Base(deref(a.GetterSource))) {
		t.warn(at.Attr("source"), "the query of the source becomes part of the file's name", fmt.Sprintf("the file is %q", redact.URL(name)), "add a destination")
	}
	if sum, ok := a.GetterOptions["checksum"]; ok && !hasReference(sum) {
		t.checksum(strings.TrimSpace(sum), at.Attr("options").Attr("checksum"))
	}
}

func (t *task) checksum(sum string, at jobspec.Path) {
	kind, value, found := strings.Cut(sum, ":")
	digits := map[string]int{"md5": 32, "sha1": 40, "sha256": 64, "sha512": 128}[kind]
	_, err := hex.DecodeString(value)
	switch {
	case !found:
		t.wrong(at, "invalid checksum", fmt.Sprintf("%q names no hash", sum), `write "sha256:HEX"`)
	case digits == 0:
		t.wrong(at, "unknown kind of checksum", fmt.Sprintf("%q", kind), "write md5, sha1, sha256 or sha512 in front of the colon")
	case len(value) != digits:
		t.wrong(at, "invalid checksum", fmt.Sprintf("%s has %d digits and %q has %d", kind, digits, value, len(value)), "")
	case err != nil:
		t.wrong(at, "invalid checksum", fmt.Sprintf("%q is not hexadecimal", value), "")
	}
}
