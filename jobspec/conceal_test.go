package jobspec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
	"taskrun/jobspec/validate"
)

// concealJob returns a job in which a line of a task may be wrong.
func concealJob(declaration, line string) string {
	return fmt.Sprintf(`
variable "zz" {
  %s
}
locals {
  copy  = var.zz
  upper = upper(local.copy)
}
job "j" {
  datacenters = ["dc1"]
  group "g" {
    network {
      port "http" {}
    }
    task "t" {
      driver = "raw_exec"
      config { command = "true" }
      %s
    }
  }
}`, declaration, line)
}

// diagnosticsOf returns all diagnostics of a job.
func diagnosticsOf(text string, opts jobspec.Options) jobspec.Diagnostics {
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "j.nomad.hcl", Text: []byte(text)}, opts)
	if file.Job != nil {
		file.Job.Canonicalize()
		found := validate.Job(file.Job, file.Positions)
		file.Place(found)
		diagnostics = append(diagnostics, found...)
	}
	return diagnostics
}

func shownOf(p jobspec.Diagnostic) string {
	return p.Summary + "\n" + p.Detail + "\n" + p.Remedy + "\n" + p.Word
}

// TestNoDiagnosticShowsAShortValue uses numbers, which have no quotes.
func TestNoDiagnosticShowsAShortValue(t *testing.T) {
	t.Parallel()
	for line, value := range map[string]string{
		"kill_timeout = var.zz":                                  "7",
		"kill_timeout = 0 + var.zz":                              "7",
		"logs {\n max_files = var.zz\n}":                         "7.5",
		"resources {\n cpu = \"${var.zz}MB\"\n}":                 "7",
		"resources {\n memory = var.zz\n}":                       "-7",
		"restart {\n attempts = 2\n interval = \"${var.zz}\"\n}": "7",
	} {
		diagnostics := diagnosticsOf(concealJob("type = number", line), jobspec.Options{Environ: []string{"NOMAD_VAR_zz=" + value}})
		if len(diagnostics) == 0 {
			t.Errorf("%s: nothing is wrong", line)
		}
		for _, p := range diagnostics {
			if strings.Contains(shownOf(p), "7") {
				t.Errorf("%s: %s", line, shownOf(p))
			}
		}
	}
}

// TestConcealedDiagnosticsHaveRemedies uses wrong values from outside: the
// error and the remedy are still reported.
func TestConcealedDiagnosticsHaveRemedies(t *testing.T) {
	t.Parallel()
	opts := jobspec.Options{Environ: []string{"NOMAD_VAR_zz=hunter4"}}
	for line, want := range map[string][]string{
		"kill_signal = var.zz":              {"unknown signal", "SIGTERM", "hidden"},
		"leader = var.zz":                   {`"leader" must be true or false`, "hidden"},
		"resources {\n cpu = \"x\"\n}":      {`"cpu" must be a whole number`, `it is the string "x"`},
		"user = \"hunter5\"\n driver = 5\n": {"driver"},
	} {
		var said string
		for _, p := range diagnosticsOf(concealJob("", line), opts) {
			said += shownOf(p)
		}
		for _, part := range want {
			if !strings.Contains(said, part) {
				t.Errorf("%s: %q is not in %s", line, part, said)
			}
		}
	}
	diagnostics := diagnosticsOf(concealJob("type = number", ""), opts)
	want := `the value from the environment of variable "zz" does not fit its type: the type is number; the value is hidden`
	if !strings.Contains(diagnostics.Error(), want) {
		t.Errorf("%v", diagnostics)
	}
}

// TestMistypedVarsAreHidden uses values of TASKRUN_VAR that name no variable.
func TestMistypedVarsAreHidden(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]string{"hunter4": "--var (hidden) sets nothing", "yy=hunter4": `does not declare a variable "yy"`} {
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: "j.nomad.hcl", Text: []byte(concealJob("default = 1", ""))}, jobspec.Options{Vars: []string{argument}, SecretVars: true})
		said := diagnostics.Error()
		for _, p := range diagnostics {
			said += shownOf(p)
			if strings.Contains(string(file.Sources[p.Range.File]), "hunter4") && !file.Secret[p.Range.File] {
				t.Errorf("%s: %s can be shown", argument, p.Range.File)
			}
		}
		if !strings.Contains(said, want) || strings.Contains(said, "hunter4") {
			t.Errorf("%s: %s", argument, said)
		}
	}
}

// TestNoDiagnosticShowsAValue gives a job values from all sources, wrong in all
// possible ways.
func TestNoDiagnosticShowsAValue(t *testing.T) {
	t.Parallel()
	const secret = "hunter4:SECRET word"
	jobs := map[string]string{
		"the type of the variable":    concealJob("type = number", ""),
		"the type of its default":     concealJob("default = 5", ""),
		"a list":                      concealJob("type = list(number)", ""),
		"its own rule":                concealJob("validation {\n condition = substr(var.zz, 0, 3) == \"abc\"\n error_message = \"too long\"\n}", ""),
		"a number":                    concealJob("", "kill_timeout = 5\n resources {\n cpu = var.zz\n}"),
		"a duration":                  concealJob("", "kill_timeout = var.zz"),
		"a bool":                      concealJob("", "leader = var.zz"),
		"a list of strings":           concealJob("", "constraint { distinct_hosts = [var.zz] }"),
		"a signal":                    concealJob("", "kill_signal = var.zz"),
		"a part of a signal":          concealJob("", "kill_signal = \"SIG${substr(var.zz, 8, 6)}\""),
		"a signal by way of locals":   concealJob("", "kill_signal = local.upper"),
		"the port of a service":       concealJob("", "service {\n name = \"s\"\n provider = \"nomad\"\n port = var.zz\n}"),
		"the name of a service":       concealJob("", "service {\n name = var.zz\n provider = \"nomad\"\n}"),
		"a checksum":                  concealJob("", "artifact {\n source = \"https://x/y\"\n options {\n checksum = var.zz\n }\n}"),
		"a destination":               concealJob("", "artifact {\n source = \"https://x/y\"\n destination = \"../../${var.zz}\"\n}"),
		"the mode of an artifact":     concealJob("", "artifact {\n source = \"https://x/y\"\n mode = var.zz\n}"),
		"a constraint":                concealJob("", "constraint {\n attribute = \"${attr.x}\"\n operator = var.zz\n value = \"1\"\n}"),
		"a version":                   concealJob("", "constraint {\n attribute = \"${attr.x}\"\n operator = \"version\"\n value = var.zz\n}"),
		"an expression":               concealJob("", "constraint {\n attribute = \"${attr.x}\"\n operator = \"regexp\"\n value = \"(${var.zz}\"\n}"),
		"a template":                  concealJob("", "template {\n data = \"x\"\n destination = \"local/x\"\n change_mode = var.zz\n}"),
		"permissions":                 concealJob("", "template {\n data = \"x\"\n destination = \"local/x\"\n perms = var.zz\n}"),
		"a lifecycle":                 concealJob("", "lifecycle { hook = var.zz }"),
		"the name of a task":          concealJob("", "dynamic \"action\" {\n for_each = [var.zz]\n labels = [action.value]\n content {\n command = [action.value]\n }\n}"),
		"a function":                  concealJob("", "kill_timeout = parseint(var.zz, 10)"),
		"a file":                      concealJob("", "user = file(var.zz)"),
		"JSON":                        concealJob("", "user = jsondecode(var.zz)"),
		"a part of a function":        concealJob("", "kill_timeout = parseint(split(\":\", var.zz)[1], 10)"),
		"a key that is defined twice": concealJob("", "meta = { for i in [1, 2] : var.zz => i }"),
		"a key that is not there":     concealJob("", "user = { a = 1 }[var.zz]"),
		"a key of a map":              concealJob("", "resources = { (var.zz) = 1 }"),
		"the value of a map":          concealJob("", "logs { max_files = { a = var.zz } }"),
		"arithmetic":                  concealJob("", "kill_timeout = var.zz + 1"),
		"a condition":                 concealJob("", "kill_timeout = var.zz ? 1 : 2"),
		"a loop":                      concealJob("", "kill_timeout = [for c in split(\":\", var.zz) : c][1]"),
		"an iterator":                 concealJob("", "dynamic \"service\" {\n for_each = [var.zz]\n content {\n name = \"s\"\n provider = \"nomad\"\n port = service.value\n }\n}"),
		"a key of an iterator":        concealJob("", "dynamic \"service\" {\n for_each = { (var.zz) = 1 }\n content {\n name = \"s\"\n provider = \"nomad\"\n port = service.key\n }\n}"),
		"base64":                      concealJob("", "kill_signal = base64encode(var.zz)"),
		"periodic":                    strings.Replace(concealJob("", ""), "datacenters", "type = \"batch\"\n periodic { cron = var.zz }\n datacenters", 1),
		"count":                       strings.Replace(concealJob("", ""), "network {", "count = var.zz\n network {", 1),
		"the type of the job":         strings.Replace(concealJob("", ""), "datacenters", "type = var.zz\n datacenters", 1),
	}
	at := jobspec.Range{File: "taskrun.hcl", Start: jobspec.Pos{Line: 2, Column: 8, Byte: 20}, End: jobspec.Pos{Line: 2, Column: 28, Byte: 40}}
	sources := map[string]jobspec.Options{
		"stubs":            {Values: map[string]jobspec.VariableValue{"zz": {Value: cty.StringVal(secret), At: at}}},
		"a file of values": {VarTexts: []jobspec.Source{{Name: "values", Text: []byte("zz = \"" + secret + "\"\n")}}},
		"the environment":  {Environ: []string{"NOMAD_VAR_zz=" + secret}},
		"TASKRUN_VAR":      {Vars: []string{"zz=" + secret}, SecretVars: true},
	}
	for name, text := range jobs {
		for source, opts := range sources {
			t.Run(name+" from "+source, func(t *testing.T) {
				t.Parallel()
				diagnostics := diagnosticsOf(text, opts)
				if len(diagnostics) == 0 || strings.Contains(diagnostics.Error(), "definition required") {
					t.Errorf("what is wrong is not the value: %v", diagnostics)
				}
				for _, p := range diagnostics {
					for _, part := range []string{"hunter", "secret", " word", "aHVudGVy"} {
						if strings.Contains(strings.ToLower(shownOf(p)), strings.ToLower(part)) {
							t.Errorf("%q is shown: %s", part, shownOf(p))
						}
					}
				}
			})
		}
	}
}

// FuzzValues gives a job a value that is wrong in many places.
func FuzzValues(f *testing.F) {
	for _, value := range []string{"hunter4SECRET", "12345678", "a:b:SECRET", "${SECRET}", "SE\"CR\\ET", "SIGSECRET\n"} {
		f.Add(value)
	}
	lines := []string{
		"kill_signal = var.zz", "kill_timeout = var.zz", "leader = var.zz", "user = jsondecode(var.zz)", "kill_timeout = parseint(var.zz, 10)",
		"resources {\n cpu = var.zz\n memory = \"x${var.zz}\"\n}", "lifecycle {\n hook = local.copy\n}",
		"service {\n name = var.zz\n provider = \"nomad\"\n port = var.zz\n}",
		"artifact {\n source = \"https://x\"\n destination = \"../../${var.zz}\"\n mode = local.copy\n options {\n checksum = var.zz\n }\n}",
		"template {\n data = \"x\"\n destination = \"local/x\"\n change_mode = var.zz\n perms = var.zz\n}",
		"constraint {\n attribute = \"x\"\n operator = \"version\"\n value = var.zz\n}",
		"meta = { for i in [1, 2] : var.zz => i }",
	}
	f.Fuzz(func(t *testing.T, value string) {
		if len(value) < 6 || strings.Contains(whatIsSaid, value) {
			return
		}
		for _, line := range lines {
			text := concealJob("", line)
			if strings.Contains(text, value) {
				return
			}
			for _, p := range diagnosticsOf(text, jobspec.Options{Environ: []string{"NOMAD_VAR_zz=" + value}}) {
				for _, form := range []string{value, strings.ToUpper(value), fmt.Sprintf("%q", value)} {
					if strings.Contains(shownOf(p), form) {
						t.Errorf("%s: %q is shown: %s", line, value, shownOf(p))
					}
				}
			}
		}
	})
}

// whatIsSaid are words of messages, which are not secret.
const whatIsSaid = "the value is hidden, for it was set from outside of the job file"
