package preflight

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskrun/drivers/catalog"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/validate"
)

// validated returns the diagnostics of taskrun validate for a text.
func validated(name string, text []byte) jobspec.Diagnostics {
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: name, Text: text}, jobspec.Options{})
	c := &Case{
		Entry: Validate, Files: []File{{File: file, Job: file.Draft, Name: name}}, Stubs: stub.None(),
		Drivers: catalog.New(), MaxAllocs: validate.DefaultMaxAllocs,
	}
	c.Prepare()
	return append(diagnostics, c.Check()...)
}

func errorsOf(diagnostics jobspec.Diagnostics) (found []string) {
	for _, p := range diagnostics {
		if p.Severity == jobspec.Error {
			found = append(found, p.Error())
		}
	}
	slices.Sort(found)
	return slices.Compact(found) // one for each generated block
}

// TestOneMistakeIsOneError puts single mistakes into valid jobs. Consequences
// are not reported.
func TestOneMistakeIsOneError(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"jobs/*.hcl", "runs/*.hcl", "faults/*.nomad.hcl"} {
		names, err := filepath.Glob(filepath.Join("../../testdata", pattern))
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(errorsOf(validated(name, text))) > 0 {
				continue
			}
			t.Run(filepath.Base(name), func(t *testing.T) { mistakes(t, name, text) })
		}
	}
}

func mistakes(t *testing.T, name string, text []byte) {
	file, _ := jobspec.Parse(jobspec.Source{Name: name, Text: text}, jobspec.Options{})
	done := map[int]bool{}
	for path, at := range file.Positions {
		begin, end := at.Start.Byte, at.End.Byte
		line := text[bytes.LastIndexByte(text[:begin], '\n')+1 : begin]
		attr, _, isAttr := strings.Cut(string(line), "=")
		if attr = strings.TrimSpace(attr); !isAttr || strings.ContainsAny(attr, " \"[{") || done[begin] {
			continue // a block, or an element of a list
		}
		done[begin] = true
		unset := string(text[:begin]) + "var.unset" + string(text[end:]) + "\nvariable \"unset\" {}\n"
		if found := errorsOf(validated(name, []byte(unset))); len(found) != 1 {
			t.Errorf("%s without a value: %q", path, found)
		}
		misspelled := strings.TrimSuffix(string(text[:begin]), string(line)) + strings.Replace(string(line), attr, attr+"x", 1) + string(text[begin:])
		if found := errorsOf(validated(name, []byte(misspelled))); len(found) > 1 {
			t.Errorf("%s misspelled: %q", path, found)
		}
	}
}

// A value without meaning does not hide that another value of its block is wrong.
func TestMistakesInOneBlock(t *testing.T) {
	t.Parallel()
	const job = `job "j" {
  group "g" {
    restart {
      interval = "1 minute"
      mode     = "retry"
      attempts = -1
    }
    network {
      port "a" {
        static = "x"
        to     = 70000
      }
    }
    service {
      name     = "a b"
      provider = "nomads"
      tags     = var.unset
      check {
        type     = "htp"
        interval = "soon"
        timeout  = "10ms"
      }
    }
    task "t" {
      driver      = "raw_exec"
      kill_signal = "SIGHUB"
      config {
        command = "true"
      }
      template {
        destination = "../../../x"
        data        = "x"
        perms       = "rw"
        splay       = "long"
        change_mode = "exec"
      }
      resources {
        cpu    = "much"
        memory = 1
      }
      constraint {
        attribute = "${attr.cpu.archh}"
        operator  = "like"
        value     = var.unset
      }
    }
    service {
      port = "a"
      connect {
        gateway {
          ingress {
            listener {
              port     = "many"
              protocol = "tcpp"
              service {
                name = "s"
              }
            }
          }
        }
      }
    }
  }
}
variable "unset" {}
`
	var found strings.Builder
	for _, p := range validated("job.hcl", []byte(job)) {
		found.WriteString(p.Summary + "\n")
	}
	for _, want := range []string{
		`"interval" must be a duration`, "unknown restart mode", "attempts is negative",
		`"static" must be a whole number`, "port is out of range",
		"invalid service name", "unknown service provider", `variable "unset" has no value`,
		"unknown protocol of a listener", "unknown check type", "timeout of the check is too short",
		"unknown signal", "destination lies outside of the allocation", "perms is not an octal mode", "unknown change mode",
		`"cpu" must be a whole number`, "memory is too small", "${attr.cpu.archh} is not a reference that Nomad knows", "unknown operator",
	} {
		if !strings.Contains(found.String(), want) {
			t.Errorf("%s is not reported", want)
		}
	}
	if strings.Contains(found.String(), "listener has no port") {
		t.Error("the consequence of a value without meaning is reported")
	}
	if t.Failed() {
		t.Log(found.String())
	}
}
