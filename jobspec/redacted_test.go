package jobspec_test

import (
	"strings"
	"testing"

	"taskrun/jobspec"
)

// A redacted job has no values of its environment, none from outside the job file,
// and no credentials.
func TestRedacted(t *testing.T) {
	t.Parallel()
	const text = `
variable "password" {}
variable "level" { default = "verbose" }
variable "api" {}
job "web" {
  meta { m = "meta-SECRET" }
  group "g" {
    task "t" {
      driver = "docker"
      env { E = "env-SECRET" }
      config {
        image = "busybox"
        args  = ["-l", var.level, "-p=${var.password}", "https://u:url-SECRET@h/x", "kept"]
        auth { password = "auth-SECRET" }
      }
      artifact { source = "https://h/x?token=query-SECRET" }
      template {
        data        = "{{ env \"NAME\" }} ${var.api}"
        destination = "local/f"
      }
    }
  }
}`
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "web.nomad.hcl", Text: []byte(text)}, jobspec.Options{
		Vars: []string{"password=flag-SECRET"}, Environ: []string{"NOMAD_VAR_api=environ-SECRET"},
	})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	got, err := file.Redacted()
	if err != nil || strings.Contains(string(got), "SECRET") {
		t.Errorf("%s, %v", got, err)
	}
	for _, want := range []string{`"ID":"web"`, `"image":"busybox"`, `"verbose"`, `"kept"`, `"E":"xxxxx"`, `"m":"xxxxx"`, `{{ env \"NAME\" }}`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
}
