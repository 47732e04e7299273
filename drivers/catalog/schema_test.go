package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

// TestSchemasMatchTheirDrivers parses testdata/DRIVER.nomad.hcl, whose tasks
// use every option of the driver, as blocks and as objects, and checks and
// decodes them, also in the form of the API's JSON.
func TestSchemasMatchTheirDrivers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.nomad.hcl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no job files: %v", err)
	}
	known := New()
	for _, name := range files {
		driver := strings.TrimSuffix(filepath.Base(name), ".nomad.hcl")
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			schema := Schema(driver)
			if d := known[driver]; d != nil {
				schema = d.TaskConfigSchema()
			}
			if schema == nil {
				t.Fatal("there is no schema")
			}
			unused := optionsOf(schema)
			checker := NewChecker(known)
			job := parse(t, name).Job
			job.Canonicalize()
			group := job.TaskGroups[0]
			for _, task := range group.Tasks {
				env := taskenv.NewBuilder(&taskenv.Node{}, taskenv.AllocInfo{}, job, group, task).Build()
				for option := range task.Config {
					delete(unused, option)
				}
				for _, config := range []map[string]any{task.Config, throughJSON(t, task.Config)} {
					for _, p := range checker.Check(driver, config, jobspec.Root) {
						t.Errorf("%s: %v", p.Path, p)
					}
					if _, err := env.DecodeConfig(config, schema); err != nil {
						t.Error(err)
					}
				}
			}
			for option := range unused {
				t.Errorf("no task uses the option %q", option)
			}
		})
	}
}

func parse(t *testing.T, name string) *jobspec.File {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: name, Text: text}, jobspec.Options{})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return file
}

func throughJSON(t *testing.T, config map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	var again map[string]any
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	return again
}

// TestSchemasRefuse removes the config of each driver's task.
func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	blocks := func(m map[string]any) []any { return []any{m} }
	for _, c := range []struct {
		driver string
		config map[string]any
		want   []string
	}{
		{"docker", map[string]any{"image": "x", "work-dir": "/"}, []string{`driver "docker" has no option "work-dir"`}},
		{"docker", map[string]any{"image": "x", "devices": []any{"/dev/null"}}, []string{`option "devices" of driver "docker" must be a block`}},
		{"docker", map[string]any{"image": "x", "port_map": blocks(map[string]any{"http": "eighty"})}, []string{`option "port_map" of driver "docker" must be a map of numbers`}},
		{"docker", map[string]any{"image": "x", "mount": blocks(map[string]any{"volume_options": blocks(map[string]any{"driver_config": blocks(map[string]any{"title": "x"})})})}, []string{`driver "docker" has no option "title" in "driver_config"`}},
		{"exec", map[string]any{"command": "x", "image": "y"}, []string{`driver "exec" has no option "image"`}},
		{"java", map[string]any{"jar_path": "x", "jvm_options": "-Xmx1g"}, []string{`option "jvm_options" of driver "java" must be a list of strings`}},
		{"qemu", map[string]any{"image": "x"}, []string{`driver "qemu" has no option "image"`, `driver "qemu" needs the option "image_path"`}},
		{"podman", map[string]any{"image": "x", "devices": blocks(map[string]any{"host_path": "/dev/null"})}, []string{`option "devices" of driver "podman" must be a list of strings`}},
	} {
		var got []string
		for _, p := range NewChecker(New()).Check(c.driver, c.config, jobspec.Root) {
			got = append(got, p.Summary)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %v: %s", c.driver, c.config, diff)
		}
	}
	if Schema("my-own-plugin") != nil || Schema("raw_exec") != nil {
		t.Error("there are schemas of unknown drivers, or of drivers in the catalog")
	}
}
