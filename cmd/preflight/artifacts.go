package preflight

import (
	"fmt"
	"strings"

	"taskrun/jobspec"
	"taskrun/jobspec/artifact"
	"taskrun/jobspec/stub"
)

// remedies are for artifacts that Nomad can download and taskrun cannot.
var remedies = map[string]string{
	"s3":  "write the https URL of the object, a presigned one if it is private",
	"gcs": "write the https URL of the object, a signed one if it is private",
	"hg":  "write the https URL of an archive of the repository",
}

// artifacts refuses artifacts that can never be downloaded here.
func artifacts(c *Case, t taskOf) (diagnostics jobspec.Diagnostics) {
	if c.Entry == Rehearse && !c.Download {
		return nil
	}
	for i, a := range t.Artifacts {
		kind, not := artifact.Unsupported(*a.GetterSource)
		if !not || len(c.Stubs.Unfilled(stub.Need{Kind: stub.ArtifactBlock, Label: *a.GetterSource}, false)) > 0 {
			continue // or reported by unfilled
		}
		from := kind
		if remedies[kind] == "" {
			from = "this source" // the first part may be anything, even a secret
		}
		diagnostics = append(diagnostics, jobspec.Diagnostic{
			Summary: fmt.Sprintf("artifacts from %s are not supported here", from),
			Detail:  "there are http, https, git and files of this machine",
			Remedy:  strings.TrimPrefix(remedies[kind]+`; or replace it in the stubs file: artifact "SOURCE" { source = "…" }`, "; or "),
			Path:    t.at.Index("artifact", i).Attr("source"),
		})
	}
	return diagnostics
}
