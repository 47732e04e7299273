package jobspec_test

import (
	"os"
	"strings"
	"testing"

	"taskrun/jobspec"
)

func TestPositionsLeadToTheSource(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/positions.nomad.hcl")
	if err != nil {
		t.Fatal(err)
	}
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "p.nomad.hcl", Text: text}, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	for path, want := range map[jobspec.Path]string{
		"job":                                                          `job "p"`,
		"job.region":                                                   `"eu"`,
		"job.meta":                                                     `meta`,
		"job.meta.owner":                                               `"me"`,
		"job.vault":                                                    `vault`,
		"job.group[0]":                                                 `task "bare"`,
		"job.group[0].task[0]":                                         `task "bare"`,
		"job.group[0].task[0].driver":                                  `"mock_driver"`,
		"job.group[0].task[0].vault.role":                              `"outer"`, // inherited
		"job.group[0].task[0].secret[0]":                               `secret "s"`,
		"job.group[1]":                                                 `group "g"`,
		"job.group[1].count":                                           `1 + 1`,
		"job.group[1].meta":                                            `{ "a.b" = "dotted" }`,
		"job.group[1].meta.a.b":                                        `"dotted"`,
		"job.group[1].network[0]":                                      `network`,
		"job.group[1].network[0].mode":                                 `"bridge"`,
		`job.group[1].network[0].port["http"]`:                         `port "http"`,
		`job.group[1].network[0].port["http"].static`:                  `8080`,
		`job.group[1].network[0].port["db"]`:                           `port "db"`,
		`job.group[1].volume["data"].type`:                             `"host"`,
		`job.group[1].volume["data"].mount_options.fs_type`:            `"ext4"`,
		"job.group[1].service[0]":                                      `dynamic "service"`,
		"job.group[1].service[1].name":                                 `service.value`,
		"job.group[1].service[1].check[0].type":                        `"tcp"`,
		"job.group[1].scaling.max":                                     `3`,
		"job.group[1].task[0].config":                                  `config`,
		"job.group[1].task[0].config.image":                            `"nginx"`,
		"job.group[1].task[0].config.args":                             `["-c", upper("x")]`,
		"job.group[1].task[0].config.args[1]":                          `upper("x")`,
		"job.group[1].task[0].config.labels.tier":                      `"front"`,
		"job.group[1].task[0].config.mount[0]":                         `mount`,
		"job.group[1].task[0].config.mount[0].type":                    `"bind"`,
		"job.group[1].task[0].config.mount[1].x[0].type":               `"volume"`,
		"job.group[1].task[0].env.A":                                   `"1"`,
		"job.group[1].task[0].identity.env":                            `true`, // the default one
		"job.group[1].task[0].identity[0].ttl":                         `"1h"`,
		"job.group[1].task[0].identity[1].name":                        `"last"`,
		"job.group[1].task[0].scaling[0].max":                          `5`,
		"job.group[1].task[0].resources.device[0].count":               `2`,
		"job.group[1].task[0].resources.device[0].constraint[0].value": `"1"`,
	} {
		at, ok := file.Positions[path]
		if !ok {
			t.Errorf("%s has no position", path)
			continue
		}
		if got := string(text[at.Start.Byte:at.End.Byte]); got != want {
			t.Errorf("%s is at %q, want %q", path, got, want)
		}
	}
	for _, path := range []jobspec.Path{
		"job.group[1].task[0].identity[0].env", // moved to the default identity
		"job.group[1].task[0].identity[2]",
	} {
		if at, ok := file.Positions[path]; ok {
			t.Errorf("%s is at %v, though there is no such thing", path, at)
		}
	}
}

// Positions has a place for any path of a validator: the attribute or block
// itself, or else the enclosing one.
func TestPositionsAtFallsBackToEnclosingBlocks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/positions.nomad.hcl")
	if err != nil {
		t.Fatal(err)
	}
	file, _ := jobspec.Parse(jobspec.Source{Name: "p.nomad.hcl", Text: text}, jobspec.Options{})
	for path, want := range map[jobspec.Path]string{
		"job.group[1].task[0].config.args[7]":             `["-c", upper("x")]`,
		"job.group[1].task[0].kill_timeout":               `task "t"`,
		`job.group[1].network[0].port["http"].to`:         `port "http"`,
		"job.group[1].task[0].resources.device[0].numa.x": `device "gpu"`,
		"job.nothing.at.all":                              `job "p"`,
	} {
		at := file.Positions.At(path)
		if got := string(text[at.Start.Byte:at.End.Byte]); got != want {
			t.Errorf("At(%s) is %q, want %q", path, got, want)
		}
	}
}

func TestEveryPositionIsInItsSource(t *testing.T) {
	t.Parallel()
	for _, path := range jobFiles(t, "testdata/ok") {
		file, _ := parseCase(t, path)
		for at, r := range file.Positions {
			source := file.Sources[r.File]
			if r.Start.Byte >= r.End.Byte || r.End.Byte > len(source) {
				t.Errorf("%s: %s is at %+v", path, at, r)
				continue
			}
			if got := 1 + strings.Count(string(source[:r.Start.Byte]), "\n"); got != r.Start.Line {
				t.Errorf("%s: %s is said to be on line %d, but is on %d", path, at, r.Start.Line, got)
			}
		}
		if file.Job != nil && len(file.Positions) == 0 {
			t.Errorf("%s has no positions", path)
		}
	}
}

func TestPositionsInJSON(t *testing.T) {
	t.Parallel()
	text := []byte(`{"Job": {
	"ID": "x", "Name": null,
	"TaskGroups": [{
		"Name": "g",
		"Networks": [{"DynamicPorts": [{"Label": "http", "To": 80}]}],
		"Volumes": {"v": {"Type": "host"}},
		"Tasks": [{"Name": "t", "Config": {"args": ["a", "b"]}, "Env": {"K": "V"},
			"Templates": [{"EmbeddedTmpl": "x", "DestPath": "d"}]}]
	}]
}}`)
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x.json", Text: text}, jobspec.Options{})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	for path, want := range map[jobspec.Path]string{
		"job":    `"Job"`,
		"job.id": `"x"`,
		"job.group[0].network[0].port[\"http\"].to":    `80`,
		"job.group[0].volume[\"v\"].type":              `"host"`,
		"job.group[0].task[0].config.args":             `["a", "b"]`,
		"job.group[0].task[0].config.args[1]":          `"b"`,
		"job.group[0].task[0].env.K":                   `"V"`,
		"job.group[0].task[0].template[0].destination": `"d"`,
	} {
		at, ok := file.Positions[path]
		if got := string(text[at.Start.Byte:at.End.Byte]); !ok || got != want {
			t.Errorf("%s is at %q, want %q", path, got, want)
		}
	}
	if at, ok := file.Positions["job.name"]; ok {
		t.Errorf("null is at %v", at)
	}
}
