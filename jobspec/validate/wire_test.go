package validate_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
	"taskrun/jobspec/validate"
)

// exchange is a recorded request to Nomad's HTTP API and its response; see
// https://developer.hashicorp.com/nomad/api-docs/jobs#parse-job and
// https://developer.hashicorp.com/nomad/api-docs/validate.
type exchange struct {
	Request struct {
		Body struct {
			JobHCL       string
			Canonicalize bool
			Job          json.RawMessage
		}
	}
	Status int
	Body   json.RawMessage
}

func recorded(t *testing.T, name string) (e exchange) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/wire", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestJobIsParsedAsRecorded(t *testing.T) {
	t.Parallel()
	e := recorded(t, "jobs-parse")
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "input.hcl", Text: []byte(e.Request.Body.JobHCL)}, jobspec.Options{})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	if e.Request.Body.Canonicalize {
		file.Job.Canonicalize()
	}
	var out bytes.Buffer
	if err := jobspec.WriteJSON(&out, file.Job); err != nil {
		t.Fatal(err)
	}
	var got struct{ Job any }
	var want any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(e.Body, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Job); diff != "" {
		t.Error(diff)
	}
}

func TestJobIsRefusedAsRecorded(t *testing.T) {
	t.Parallel()
	e := recorded(t, "jobs-parse-error")
	_, diagnostics := jobspec.Parse(jobspec.Source{Name: "input.hcl", Text: []byte(e.Request.Body.JobHCL)}, jobspec.Options{})
	if len(diagnostics) != 1 || !diagnostics.HasErrors() {
		t.Fatalf("got %v, want one error", diagnostics)
	}
	var theirs string
	if err := json.Unmarshal(e.Body, &theirs); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(theirs, diagnostics[0].Range.String()+"-") {
		t.Errorf("%v, want it where Nomad sees it: %s", diagnostics[0], theirs)
	}
}

func TestJobIsValidatedAsRecorded(t *testing.T) {
	t.Parallel()
	e := recorded(t, "validate-job")
	var answer struct {
		ValidationErrors []string
		Warnings         string
	}
	if err := json.Unmarshal(e.Body, &answer); err != nil {
		t.Fatal(err)
	}
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "job.json", Text: e.Request.Body.Job}, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	file.Job.Canonicalize()
	diagnostics = append(diagnostics, validate.Job(file.Job, nil)...)
	if diagnostics.HasErrors() != (len(answer.ValidationErrors) > 0) {
		t.Errorf("got %v, want %v", diagnostics, answer.ValidationErrors)
	}
	if len(diagnostics) != strings.Count(answer.Warnings, "\n* ") || !strings.Contains(diagnostics[0].Summary, "shutdown_delay") {
		t.Errorf("got %v, want %s", diagnostics, answer.Warnings)
	}
}
