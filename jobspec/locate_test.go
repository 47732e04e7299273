package jobspec_test

import (
	"fmt"
	"testing"

	"taskrun/jobspec"
)

// TestPlaceFindsNamesAndValues writes places as "line,column: text".
func TestPlaceFindsNamesAndValues(t *testing.T) {
	t.Parallel()
	const native = `job "j" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        comand = "/bin/true"
        quiet  = quiet
        labels = { "ü" = 1, "größe" : "x", (upper("k")) = 2 }
        args   = ["a", "b"]
        mount {
          typ = "bind"
        }
        mounts = [{ typ = "bind" }]
        dynamic "device" {
          for_each = ["x"]
          content {
            path = device.value
          }
        }
      }
    }
  }
}
`
	const json = `{"job": {"j": {"group": {"g": {"task": {"t": {"driver": "raw_exec", "config": {
  "comand":
    "/bin/true", "labels": {"a": 1}}
}}}}}}}`
	const config = "job.group[0].task[0].config"
	for _, c := range []struct {
		source string
		path   jobspec.Path
		value  string // place of a diagnostic about the value
		name   string // and about the name
	}{
		{native, config + ".comand", `6,18: "/bin/true"`, `6,9: comand`},
		{native, config + ".quiet", `7,18: quiet`, `7,9: quiet`},
		{native, config + ".labels", `8,18: { "ü" = 1, "größe" : "x", (upper("k")) = 2 }`, `8,9: labels`},
		{native, config + ".labels[0].größe", `8,39: "x"`, `8,30: größe`},
		{native, config + ".labels[0].K", `8,18: { "ü" = 1, "größe" : "x", (upper("k")) = 2 }`, `8,18: { "ü" = 1, "größe" : "x", (upper("k")) = 2 }`},
		{native, config + ".args[1]", `9,24: "b"`, `9,24: "b"`},
		{native, config + ".args[7]", `9,18: ["a", "b"]`, `9,18: ["a", "b"]`},
		{native, config + ".mount", `10,9: mount`, `10,9: mount`},
		{native, config + ".mount[0].typ", `11,17: "bind"`, `11,11: typ`},
		{native, config + ".mount.typ", `11,17: "bind"`, `11,11: typ`},
		{native, config + ".mounts[0].typ", `13,27: "bind"`, `13,21: typ`},
		{native, config + ".device[0]", `14,9: dynamic "device"`, `14,9: dynamic "device"`},
		{native, config + ".device[0].path", `17,20: device.value`, `17,13: path`},
		{native, config + ".nothing.at.all", `5,7: config`, `5,7: config`},
		{json, config + ".comand", `3,5: "/bin/true"`, `2,4: comand`},
		{json, config + ".labels[0].a", `3,34: 1`, `3,30: a`},
	} {
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: "f", Text: []byte(c.source)}, jobspec.Options{})
		if diagnostics.HasErrors() {
			t.Fatal(diagnostics)
		}
		for _, ofName := range []bool{false, true} {
			diagnostics := jobspec.Diagnostics{{Path: c.path, OfName: ofName}}
			file.Place(diagnostics)
			r := diagnostics[0].Range
			got := fmt.Sprintf("%d,%d: %s", r.Start.Line, r.Start.Column, c.source[r.Start.Byte:r.End.Byte])
			want := c.value
			if ofName {
				want = c.name
			}
			if got != want {
				t.Errorf("%s (name: %v) is at %s, want %s", c.path, ofName, got, want)
			}
		}
	}
}

// TestPlaceFindsWords writes places as "line,column: text".
func TestPlaceFindsWords(t *testing.T) {
	t.Parallel()
	const text = `job "j" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "PORT_a_b ${PORT_ü} ${PORT_a}"
        args    = ["-p", "PORT_a"]
      }
      template {
        data = <<EOT
one ${PORT_ab}
two ä ${PORT_a}
EOT
      }
    }
  }
}
`
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "f", Text: []byte(text)}, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	const task = "job.group[0].task[0]"
	for _, c := range []struct {
		path jobspec.Path
		word string
		want string
	}{
		{task + ".config.command", "PORT_a", `6,41: PORT_a`},
		{task + ".config.command", "PORT_ü", `6,31: PORT_ü`},
		{task + ".config.command", "PORT_c", `6,19: "PORT_a_b ${PORT_ü} ${PORT_a}"`},
		{task + ".config.args", "PORT_a", `7,27: PORT_a`},
		{task + ".template[0].data", "PORT_a", `12,9: PORT_a`},
		{task + ".template[0].destination", "PORT_a", `9,7: template`},
		{task + ".user", "task", `3,5: task`},
	} {
		diagnostics := jobspec.Diagnostics{{Path: c.path, Word: c.word}}
		file.Place(diagnostics)
		r := diagnostics[0].Range
		if got := fmt.Sprintf("%d,%d: %s", r.Start.Line, r.Start.Column, text[r.Start.Byte:r.End.Byte]); got != c.want {
			t.Errorf("%q in %s is at %s, want %s", c.word, c.path, got, c.want)
		}
	}
}

func TestPlaceKeepsExistingRanges(t *testing.T) {
	t.Parallel()
	at := jobspec.Range{File: "other", Start: jobspec.Pos{Line: 3, Column: 1}}
	diagnostics := jobspec.Diagnostics{{Path: jobspec.Root, Range: at}, {Summary: "of the whole"}}
	file := &jobspec.File{Positions: jobspec.Positions{jobspec.Root: {File: "f", Start: jobspec.Pos{Line: 1, Column: 1}}}}
	file.Place(diagnostics)
	if diagnostics[0].Range != at || !diagnostics[1].Range.IsZero() {
		t.Errorf("the diagnostics are at %v and %v", diagnostics[0].Range, diagnostics[1].Range)
	}
}
