package cmd

import (
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/artifact"
)

// remedies are what to do about artifacts that taskrun, unlike Nomad, cannot
// download.
var remedies = map[string]string{
	"s3":  "write the https URL of the object, a presigned one if it is private",
	"gcs": "write the https URL of the object, a signed one if it is private",
	"hg":  "write the https URL of an archive of the repository",
}

// noDownload says which artifacts of jobs can never be downloaded here.
func noDownload(files []jobFile) (problems jobspec.Problems) {
	for _, f := range files {
		if f.Job == nil {
			continue
		}
		var found jobspec.Problems
		forTasks(f.Job, func(t *api.Task, at jobspec.Path) {
			for i, a := range t.Artifacts {
				kind, not := artifact.Unsupported(*a.GetterSource)
				if !not {
					continue
				}
				from := kind
				if remedies[kind] == "" {
					from = "this source" // whose first part may be anything, a secret as well
				}
				found = append(found, jobspec.Problem{
					Summary: fmt.Sprintf("artifacts from %s are not supported here", from),
					Detail:  "there are http, https, git and files of this machine",
					Remedy:  remedies[kind],
					Path:    at.Index("artifact", i).Attr("source"),
				})
			}
		})
		f.Place(found)
		problems = append(problems, found...)
	}
	return problems
}
