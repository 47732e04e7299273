package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/spf13/pflag"
	"github.com/zclconf/go-cty/cty"
)

// testDrivers returns one driver with options and one without.
func testDrivers() Schemas {
	return Schemas{
		"raw_exec": hcldec.ObjectSpec{
			"enabled":        &hcldec.AttrSpec{Name: "enabled", Type: cty.Bool},
			"denied_envvars": &hcldec.AttrSpec{Name: "denied_envvars", Type: cty.List(cty.String)},
			"gc": &hcldec.BlockSpec{TypeName: "gc", Nested: hcldec.ObjectSpec{
				"image": &hcldec.AttrSpec{Name: "image", Type: cty.Bool},
			}},
		},
		"plain": nil,
	}
}

// plugins reads a config file with a name.
func plugins(t *testing.T, name, text string) ([]Plugin, error) {
	t.Helper()
	var o options
	flags := flagsOf(&o)
	return Apply(flags, Sources{
		Env: func(string) string { return "" }, File: write(t, name, text), Keys: func() []string { return Options(flags) }, Drivers: testDrivers,
	})
}

func TestOptionsOfDrivers(t *testing.T) {
	t.Parallel()
	want := cty.ObjectVal(map[string]cty.Value{
		"enabled":        cty.False,
		"denied_envvars": cty.ListVal([]cty.Value{cty.StringVal("AWS_*"), cty.StringVal("SECRET")}),
		"gc":             cty.ObjectVal(map[string]cty.Value{"image": cty.True}),
	})
	for name, text := range map[string]string{
		"config.hcl": `timeout = "2s"
plugin "raw_exec" {
  config {
    enabled        = false
    denied_envvars = ["AWS_*", "SECRET"]
    gc {
      image = true
    }
  }
}
`,
		"config.toml": "timeout = \"2s\"\n[plugin.raw_exec.config]\nenabled = false\ndenied_envvars = [\"AWS_*\", \"SECRET\"]\ngc.image = true\n",
		"config.yaml": "timeout: 2s\nplugin:\n  raw_exec:\n    config:\n      enabled: false\n      denied_envvars: [AWS_*, SECRET]\n      gc: {image: true}\n",
		"config.json": `{"timeout": "2s", "plugin": {"raw_exec": {"config": {"enabled": false, "denied_envvars": ["AWS_*", "SECRET"], "gc": {"image": true}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := plugins(t, name, text)
			if err != nil || len(got) != 1 {
				t.Fatalf("%d plugins, %v", len(got), err)
			}
			wantAt := map[string]string{
				"enabled": ": key plugin.raw_exec.config.enabled", "gc.image": ": key plugin.raw_exec.config.gc", "gc": ": key plugin.raw_exec.config.gc", "other": "",
			}
			if name == "config.hcl" {
				wantAt = map[string]string{"enabled": ":4", "denied_envvars": ":5", "gc": ":6", "gc.image": ":6", "other": ""}
			}
			for option, want := range wantAt {
				if at := got[0].At(option); !strings.HasSuffix(at, want) || (at == "") != (want == "") {
					t.Errorf("%s stands at %q, want %q", option, at, want)
				}
			}
			if p := got[0]; p.Name != "raw_exec" || !p.Config.RawEquals(want) || !strings.Contains(p.Origin, name) {
				t.Errorf("it is %#v", p)
			}
		})
	}
	t.Run("what is left out is null", func(t *testing.T) {
		t.Parallel()
		got, err := plugins(t, "config.hcl", "plugin \"raw_exec\" {\n  config {\n  }\n}\n")
		if err != nil || len(got) != 1 || !got[0].Config.GetAttr("enabled").IsNull() {
			t.Errorf("it is %#v, %v", got, err)
		}
	})
}

// Every error has its line, or its key if lines are unknown, and a remedy.
func TestWrongOptionsOfDrivers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, text, want string }{
		{
			"unknown driver", "config.hcl", "\nplugin \"raw_exce\" {\n}\n",
			`config.hcl:2: there is no driver "raw_exce"; did you mean "raw_exec"?`,
		},
		{
			"a driver like no other", "config.hcl", "plugin \"lxc\" {\n}\n",
			`config.hcl:1: there is no driver "lxc"; there are plain, raw_exec`,
		},
		{
			"a driver without options", "config.hcl", "plugin \"plain\" {\n}\n",
			`config.hcl:1: driver "plain" has no options; leave its plugin block out`,
		},
		{
			"no config block", "config.hcl", "plugin \"raw_exec\" {\n}\n",
			`config.hcl:1: the plugin block of driver "raw_exec" has no config block; its options go in there`,
		},
		{
			"options outside of config", "config.hcl", "plugin \"raw_exec\" {\n  enabled = true\n}\n",
			`config.hcl:2: Unsupported argument: An argument named "enabled" is not expected here`,
		},
		{
			"two config blocks", "config.hcl", "plugin \"raw_exec\" {\n  config {\n}\n  config {\n}\n}\n",
			`config.hcl:1: the plugin block of driver "raw_exec" has several config blocks; make them one`,
		},
		{
			"two plugin blocks", "config.hcl", "plugin \"raw_exec\" {\n  config {\n}\n}\nplugin \"raw_exec\" {\n  config {\n}\n}\n",
			`config.hcl:5: there is another plugin block for driver "raw_exec"; put all its options into one`,
		},
		{
			"no label", "config.hcl", "plugin {\n}\n",
			`config.hcl:1: Missing driver for plugin: All plugin blocks must have 1 labels (driver)`,
		},
		{
			"misspelt option", "config.hcl", "plugin \"raw_exec\" {\n  config {\n    enabeld = true\n  }\n}\n",
			`config.hcl:3: driver "raw_exec" has no option "enabeld"; did you mean "enabled"?`,
		},
		{
			"unknown option", "config.hcl", "plugin \"raw_exec\" {\n  config {\n    color = true\n  }\n}\n",
			`config.hcl:3: driver "raw_exec" has no option "color"; it has denied_envvars, enabled, gc`,
		},
		{
			"unknown block", "config.hcl", "plugin \"raw_exec\" {\n  config {\n    auth {\n    }\n  }\n}\n",
			`config.hcl:3: Unsupported block type: Blocks of type "auth" are not expected here`,
		},
		{
			"wrong type", "config.hcl", "plugin \"raw_exec\" {\n  config {\n    enabled = \"maybe\"\n  }\n}\n",
			`config.hcl:3: Incorrect attribute value type: Inappropriate value for attribute "enabled": a bool is required`,
		},
		{
			"text for a list", "config.hcl", "plugin \"raw_exec\" {\n  config {\n    denied_envvars = \"X\"\n  }\n}\n",
			`config.hcl:3: Incorrect attribute value type: Inappropriate value for attribute "denied_envvars": list of string required`,
		},
		{
			"wrong type in a block", "config.hcl", "plugin \"raw_exec\" {\n  config {\n    gc {\n      image = []\n    }\n  }\n}\n",
			`config.hcl:4: Incorrect attribute value type: Inappropriate value for attribute "image": bool required`,
		},
		{
			"wrong type behind another option", "config.yaml", "plugin:\n  raw_exec:\n    config: {enabled: maybe, denied_envvars: []}\n",
			`config.yaml: key plugin.raw_exec.config.enabled: `,
		},
		{
			"a second driver", "config.hcl", "plugin \"raw_exec\" {\n  config {\n  }\n}\nplugin \"lxc\" {\n}\n",
			`config.hcl:5: there is no driver "lxc"; there are plain, raw_exec`,
		},
		{
			"the first of two unknown options", "config.hcl", "plugin \"raw_exec\" {\n  config {\n    color = 1\n    auth = 1\n  }\n}\n",
			`config.hcl:3: driver "raw_exec" has no option "color"; `,
		},
		{
			"an option that is a block", "config.json", `{"plugin": {"raw_exec": {"config": {"gc": {"image": []}}}}}`,
			`config.json: key plugin.raw_exec.config.gc: `,
		},
		{
			"unknown driver", "config.toml", "[plugin.raw_exce.config]\nenabled = true\n",
			`config.toml: key plugin.raw_exce: there is no driver "raw_exce"; did you mean "raw_exec"?`,
		},
		{
			"unknown option", "config.yaml", "plugin:\n  raw_exec:\n    config: {enabeld: true}\n",
			`config.yaml: key plugin.raw_exec.config.enabeld: driver "raw_exec" has no option "enabeld"; did you mean "enabled"?`,
		},
		{
			"wrong type", "config.json", `{"plugin": {"raw_exec": {"config": {"denied_envvars": [], "enabled": "maybe"}}}}`,
			`config.json: key plugin.raw_exec.config.enabled: Incorrect attribute value type: Inappropriate value for attribute "enabled": a bool is required`,
		},
		{
			"no table", "config.toml", "plugin = \"raw_exec\"\n",
			`config.toml: key plugin (it takes tables plugin.<driver>.config)`,
		},
		{
			"no config table", "config.toml", "[plugin.raw_exec]\nenabled = true\n",
			`config.toml: key plugin.raw_exec: `,
		},
	} {
		t.Run(c.file+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			_, err := plugins(t, c.file, c.text)
			if err == nil {
				t.Fatal("accepted")
			}
			_, got, _ := strings.Cut(err.Error(), "cannot use config file ")
			if i := strings.Index(got, "/001/"+c.file); i >= 0 { // without the directory
				got = got[i+len("/001/"):]
			}
			if !strings.HasPrefix(got, c.want) {
				t.Error(cmp.Diff(c.want, got))
			}
		})
	}
}

func TestDriversAreNotAskedWithoutNeed(t *testing.T) {
	t.Parallel()
	_, err := Apply(pflag.NewFlagSet("test", pflag.ContinueOnError), Sources{
		Env: func(string) string { return "" }, File: write(t, "config.hcl", ""), Keys: func() []string { return nil }, Drivers: func() Schemas {
			t.Error("they were")
			return nil
		},
	})
	if err != nil {
		t.Error(err)
	}
}
