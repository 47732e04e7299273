package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/jobspec"
)

// schemaOf is a driver that only has a schema.
type schemaOf struct {
	drivers.Driver
	spec hcldec.Spec
}

func (d schemaOf) TaskConfigSchema() hcldec.Spec { return d.spec }

func testChecker() *Checker {
	return NewChecker(map[string]drivers.Driver{"test": schemaOf{spec: testSchema}})
}

var testSchema = hcldec.ObjectSpec{
	"image":   &hcldec.AttrSpec{Name: "image", Type: cty.String, Required: true},
	"args":    &hcldec.AttrSpec{Name: "args", Type: cty.List(cty.String)},
	"labels":  &hcldec.AttrSpec{Name: "labels", Type: cty.List(cty.Map(cty.String))},
	"weight":  &hcldec.AttrSpec{Name: "weight", Type: cty.Number},
	"verbose": &hcldec.AttrSpec{Name: "verbose", Type: cty.Bool},
	"any":     &hcldec.AttrSpec{Name: "any", Type: cty.DynamicPseudoType},
	"retries": &hcldec.DefaultSpec{
		Primary: &hcldec.AttrSpec{Name: "retries", Type: cty.Number, Required: true},
		Default: &hcldec.LiteralSpec{Value: cty.NumberIntVal(3)},
	},
	"mounts": &hcldec.BlockListSpec{TypeName: "mount", Nested: hcldec.ObjectSpec{
		"target": &hcldec.AttrSpec{Name: "target", Type: cty.String, Required: true},
		"size":   &hcldec.AttrSpec{Name: "size", Type: cty.Number},
	}},
	"auth": &hcldec.BlockSpec{TypeName: "auth", Nested: hcldec.ObjectSpec{
		"user": &hcldec.AttrSpec{Name: "user", Type: cty.String},
	}},
	"sysctl": &hcldec.BlockAttrsSpec{TypeName: "sysctl", ElementType: cty.String},
}

func TestCheckFindsErrorsOfAnyEnvironment(t *testing.T) {
	t.Parallel()
	const config = "job.group[0].task[0].config"
	for _, c := range []struct {
		name   string
		config map[string]any
		want   []string // "path: summary"
	}{
		{"all is well", map[string]any{
			"image": "redis", "args": []any{"-x", 1, true}, "labels": []any{map[string]any{"a": "b"}},
			"weight": 3, "verbose": true, "retries": 1.5, "any": []any{map[string]any{}},
			"mount":  []map[string]any{{"target": "/a"}, {"target": "/b"}},
			"auth":   []map[string]any{{"user": "me"}},
			"sysctl": []map[string]any{{"a": "b"}},
		}, nil},
		{"maps and blocks as they are in JSON", map[string]any{
			"image": "redis", "labels": map[string]any{"a": "b"}, "mount": map[string]any{"target": "/a"},
			"auth": map[string]any{"user": "me"}, "sysctl": map[string]any{"a": "b"},
		}, nil},
		{"a map of several blocks", map[string]any{
			"image": "redis", "labels": []any{map[string]any{"a": "b"}, map[string]any{"c": "d"}},
		}, nil},
		{"text that becomes the type", map[string]any{"image": 7, "weight": "3", "verbose": "true"}, nil},
		{"text that is still to be evaluated", map[string]any{
			"image": "${attr.os.name}", "weight": "${NOMAD_CPU_LIMIT}", "verbose": "%{ if true }true%{ endif }",
			"args": []any{"${NOMAD_TASK_DIR}"}, "mount": []any{map[string]any{"target": "${x}", "size": "${y}"}},
			"labels": []any{map[string]any{"a": "${b}"}},
		}, nil},
		{"null is nothing", map[string]any{"image": "x", "weight": nil, "auth": nil}, nil},
		{"unknown option", map[string]any{"image": "x", "color": "y"}, []string{
			config + `.color: driver "test" has no option "color"`,
		}},
		{"misspelt option", map[string]any{"imgae": "y"}, []string{
			config + `.imgae: driver "test" has no option "imgae"`,
		}},
		{"missing option", map[string]any{}, []string{config + `: driver "test" needs the option "image"`}},
		{"no config block", nil, []string{config + `: driver "test" needs the option "image"`}},
		{"wrong types", map[string]any{
			"image": []any{"x"}, "args": "-x", "labels": "a=b", "weight": "heavy", "verbose": "yes", "retries": true,
			"sysctl": 1,
		}, []string{
			config + `.args: option "args" of driver "test" must be a list of strings; this is the string "-x"`,
			config + `.image: option "image" of driver "test" must be a string; this is a list`,
			config + `.labels: option "labels" of driver "test" must be a map of strings; this is the string "a=b"`,
			config + `.retries: option "retries" of driver "test" must be a number; this is true`,
			config + `.sysctl: option "sysctl" of driver "test" must be a map of strings; this is 1`,
			config + `.verbose: option "verbose" of driver "test" must be true or false; this is the string "yes"`,
			config + `.weight: option "weight" of driver "test" must be a number; this is the string "heavy"`,
		}},
		{"wrong parts", map[string]any{
			"image": "x", "args": []any{"-x", []any{"nested"}}, "labels": []any{map[string]any{"a": "b", "c": []any{}}},
		}, []string{
			config + `.args[1]: option "args" of driver "test" must be a list of strings; this is a list`,
			config + `.labels[0].c: option "labels" of driver "test" must be a map of strings; this is a list`,
		}},
		{"a whole list is never evaluated", map[string]any{"image": "x", "args": "${args}"}, []string{
			config + `.args: option "args" of driver "test" must be a list of strings; this is the string "${args}"`,
		}},
		{"inside blocks", map[string]any{
			"image": "x", "auth": map[string]any{"usr": "me"},
			"mount": []map[string]any{{"target": "/a", "size": "big"}, {"source": "/a"}},
		}, []string{
			config + `.auth.usr: driver "test" has no option "usr" in "auth"`,
			config + `.mount[0].size: option "size" of driver "test" must be a number; this is the string "big"`,
			config + `.mount[1].source: driver "test" has no option "source" in "mount"`,
			config + `.mount[1]: driver "test" needs the option "target"`,
		}},
		{"a block as an attribute", map[string]any{"image": "x", "auth": "${me}"}, []string{
			config + `.auth: option "auth" of driver "test" must be a block`,
		}},
		{"one block too many", map[string]any{"image": "x", "auth": []any{map[string]any{}, map[string]any{}}}, []string{
			config + `.auth[1]: driver "test" takes one block "auth"`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range testChecker().Check("test", c.config, "job.group[0].task[0]") {
				if p.Severity != jobspec.Error {
					t.Errorf("%s is no error", p.Summary)
				}
				got = append(got, strings.TrimSuffix(fmt.Sprintf("%s: %s; %s", p.Path, p.Summary, p.Detail), "; "))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnknownOptionHasARemedy(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"imgae":    `did you mean "image"?`,
		"env":      "it belongs in the task, outside of config",
		"nonsense": "it has any, args, auth, image, labels, mount, retries, sysctl, verbose, weight",
	} {
		diagnostics := testChecker().Check("test", map[string]any{"image": "x", name: 1}, "task")
		if len(diagnostics) != 1 || diagnostics[0].Remedy != want {
			t.Errorf("%s: %+v, want the remedy %q", name, diagnostics, want)
		}
	}
}

func TestCatalogNames(t *testing.T) {
	t.Parallel()
	known := New()
	checker := NewChecker(known)
	for name, d := range known {
		if d.Info().Name != name {
			t.Errorf("driver %q calls itself %q", name, d.Info().Name)
		}
		if len(checker.Options(name)) == 0 {
			t.Errorf("driver %q has no options", name)
		}
	}
	if options := checker.Options("raw_exec"); !slices.Contains(options, "command") {
		t.Errorf("raw_exec has no option command: %v", options)
	}
}
