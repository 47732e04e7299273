package catalog

import (
	"slices"
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

func (schemaOf) Info() drivers.Info              { return drivers.Info{Name: "test"} }
func (d schemaOf) TaskConfigSchema() hcldec.Spec { return d.spec }

var testSchema = schemaOf{spec: hcldec.ObjectSpec{
	"image":   &hcldec.AttrSpec{Name: "image", Type: cty.String, Required: true},
	"args":    &hcldec.AttrSpec{Name: "args", Type: cty.List(cty.String)},
	"labels":  &hcldec.AttrSpec{Name: "labels", Type: cty.List(cty.Map(cty.String))},
	"weight":  &hcldec.AttrSpec{Name: "weight", Type: cty.Number},
	"verbose": &hcldec.AttrSpec{Name: "verbose", Type: cty.Bool},
	"retries": &hcldec.DefaultSpec{
		Primary: &hcldec.AttrSpec{Name: "retries", Type: cty.Number, Required: true},
		Default: &hcldec.LiteralSpec{Value: cty.NumberIntVal(3)},
	},
	"mounts": &hcldec.BlockListSpec{TypeName: "mount", Nested: hcldec.ObjectSpec{
		"target": &hcldec.AttrSpec{Name: "target", Type: cty.String, Required: true},
	}},
	"auth": &hcldec.BlockSpec{TypeName: "auth", Nested: hcldec.ObjectSpec{
		"user": &hcldec.AttrSpec{Name: "user", Type: cty.String},
	}},
	"sysctl": &hcldec.BlockAttrsSpec{TypeName: "sysctl", ElementType: cty.String},
}}

func TestCheckFindsWhatNoEnvironmentCanMend(t *testing.T) {
	t.Parallel()
	const config = "job.group[0].task[0].config"
	for _, c := range []struct {
		name   string
		config map[string]any
		want   []string // "path: summary"
	}{
		{"all is well", map[string]any{
			"image": "redis", "args": []any{"-x", 1, true}, "labels": []any{map[string]any{"a": "b"}},
			"weight": 3, "verbose": true, "retries": 1.5,
			"mount":  []map[string]any{{"target": "/a"}, {"target": "/b"}},
			"auth":   []map[string]any{{"user": "me"}},
			"sysctl": []map[string]any{{"a": "b"}},
		}, nil},
		{"text that becomes the type", map[string]any{"image": 7, "weight": "3", "verbose": "true"}, nil},
		{"text that is still to be evaluated", map[string]any{
			"image": "${attr.os.name}", "weight": "${NOMAD_CPU_LIMIT}", "verbose": "%{ if true }true%{ endif }",
		}, nil},
		{"null is nothing", map[string]any{"image": "x", "weight": nil}, nil},
		{"unknown option", map[string]any{"image": "x", "imgae": "y"}, []string{
			config + `.imgae: driver "test" has no option "imgae"`,
		}},
		{"missing option", map[string]any{}, []string{config + `: driver "test" needs the option "image"`}},
		{"no config block", nil, []string{config + `: driver "test" needs the option "image"`}},
		{"wrong types", map[string]any{
			"image": []any{"x"}, "args": "-x", "labels": "a=b", "weight": "heavy", "verbose": "yes", "retries": true,
		}, []string{
			config + `.args: option "args" of driver "test" must be a list`,
			config + `.image: option "image" of driver "test" must be a string`,
			config + `.labels: option "labels" of driver "test" must be a list`,
			config + `.retries: option "retries" of driver "test" must be a number`,
			config + `.verbose: option "verbose" of driver "test" must be true or false`,
			config + `.weight: option "weight" of driver "test" must be a number`,
		}},
		{"wrong element", map[string]any{"image": "x", "args": []any{[]any{"nested"}}}, []string{
			config + `.args: option "args" of driver "test" must be a list`,
		}},
		{"inside blocks", map[string]any{
			"image": "x", "mount": []map[string]any{{"targte": "/a"}}, "auth": map[string]any{"usr": "me"},
		}, []string{
			config + `.auth.usr: driver "test" has no option "usr"`,
			config + `.mount.targte: driver "test" has no option "targte"`,
			config + `.mount: driver "test" needs the option "target"`,
		}},
		{"a block as an attribute", map[string]any{"image": "x", "auth": "me"}, []string{
			config + `.auth: "auth" is a block of driver "test": leave out the equals sign`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range Check(testSchema, c.config, "job.group[0].task[0]") {
				if p.Severity != jobspec.Error {
					t.Errorf("%s is no error", p.Summary)
				}
				got = append(got, string(p.Path)+": "+p.Summary)
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
		"nonsense": "it has args, auth, image, labels, mount, retries, sysctl, verbose, weight",
	} {
		problems := Check(testSchema, map[string]any{"image": "x", name: 1}, "task")
		if len(problems) != 1 || problems[0].Remedy != want {
			t.Errorf("%s: %+v, want the remedy %q", name, problems, want)
		}
	}
}

func TestCatalogNamesDriversAsJobFilesDo(t *testing.T) {
	t.Parallel()
	for name, d := range New() {
		if d.Info().Name != name {
			t.Errorf("driver %q calls itself %q", name, d.Info().Name)
		}
		if len(Options(d)) == 0 {
			t.Errorf("driver %q has no options", name)
		}
	}
	if options := Options(New()["raw_exec"]); !slices.Contains(options, "command") {
		t.Errorf("raw_exec has no option command: %v", options)
	}
}
