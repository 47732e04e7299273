package needs_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/stub/needs"
)

// TestArtifactNeeds lists what an artifact block lacks here.
func TestArtifactNeeds(t *testing.T) {
	t.Parallel()
	for artifact, want := range map[string][]string{
		`source = "https://example.com/x"`:                                            nil,
		`source = "https://${NOMAD_META_host}/${attr.cpu.arch}"`:                      nil,
		`source = "https://${HOST}/x"`:                                                {`artifact "https://${HOST}/x"`},
		`source = "s3::https://example.com/b/x"`:                                      {`artifact "s3::https://example.com/b/x"`},
		"source = \"https://a/x\"\noptions {\n checksum = \"\"\n}":                    nil,
		"source = \"https://a/x\"\nheaders {\n A = \"${MINE}\"\n}":                    nil,
		"source = \"https://a/x\"\nheaders {\n A = \"${THEIRS}\"\n}":                  {`artifact "https://a/x"`},
		"source = \"git@example.com:o/r\"":                                            {`artifact "git@example.com:o/r"`},
		"source = \"git@example.com:o/r\"\noptions {\n sshkey = \"${secret.s.k}\"\n}": nil,
	} {
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x.nomad.hcl", Text: fmt.Appendf(nil, `
			job "x" {
			  group "g" {
			    task "t" {
			      driver = "raw_exec"
			      env {
			        MINE = "1"
			      }
			      artifact {
			        %s
			      }
			    }
			  }
			}`, artifact)}, jobspec.Options{})
		if diagnostics.HasErrors() {
			t.Fatal(diagnostics)
		}
		file.Job.Canonicalize()
		text, added, diagnostics := needs.Merge(nil, "taskrun.hcl", needs.Job{File: file, Name: "x.nomad.hcl"})
		if diagnostics.HasErrors() {
			t.Fatal(diagnostics)
		}
		if diff := cmp.Diff(want, added); diff != "" {
			t.Errorf("%s: %s", artifact, diff)
		}
		if _, diagnostics := stub.Parse("taskrun.hcl", text); diagnostics.HasErrors() {
			t.Errorf("%s: %v in\n%s", artifact, diagnostics, text)
		}
	}
}
