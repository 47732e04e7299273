package taskenv

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// configEnv has variables, secrets and node values with all shapes of names.
func configEnv() *Env {
	job, group, task := testJob()
	task.Meta = map[string]string{"a.b": "nested", "a": "plain"}
	task.Env = map[string]string{
		"GREETING": "hello", "N": "41", "LIST": `["x","y"]`, "odd..name": "odd", ".lead": "lead",
		"leaf": "leaf", "leaf.below": "below", "env.x": "shadowed", "node.mine": "m",
	}
	b := testBuilder(job, group, task).SetSecrets(map[string]string{"secret.db.password": "pw"})
	b.HostEnv = []string{"HOME=/root", "my-var=dash"}
	b.Ports = []Port{{Label: "web-ui", Value: 20002, To: 80, HostIP: "::1"}}
	return b.Build()
}

func TestDecodeConfigEvaluatesStrings(t *testing.T) {
	t.Parallel()
	e := configEnv()
	for in, want := range map[string]string{
		"plain $HOME %d {}":                               "plain $HOME %d {}",
		"${GREETING} ${HOME}":                             "hello /root",
		"${ GREETING }":                                   "hello",
		"${NOMAD_PORT_web_ui} ${NOMAD_ALLOC_ID}":          "80 " + allocID,
		`${env["GREETING"]} ${env["odd..name"]}`:          "hello odd",
		`${env[".lead"]} ${env["my-var"]} ${my-var}`:      "lead dash dash",
		"${NOMAD_META_a.b}":                               "nested", // a name with longer names has no value
		`${env["NOMAD_META_a"]}`:                          "plain",
		"${leaf.below}":                                   "below",
		"${node.unique.name} ${node.class}":               "n1 c1",
		"${node.mine} ${node.datacenter}":                 "m dc1",
		"${attr.kernel.name} ${attr.cpu.arch}":            "linux amd64",
		`${attr["kernel"].name} ${node["attr"].cpu.arch}`: "linux amd64",
		"${node.attr.kernel.name} ${node.meta.rack}":      "linux r7",
		"${meta.rack} ${secret.db.password}":              "r7 pw",
		`${upper(GREETING)} ${attr["cpu"]["arch"]}`:       "HELLO amd64",
		`${N + 1} ${int("3")} ${max(N, 7)} ${abs(-2)}`:    "42 3 41 2",
		`${jsondecode(LIST)[1]} ${jsonencode([N])}`:       `y ["41"]`,
		`${substr(GREETING, 1, 3)} ${strlen(N)}`:          "ell 2",
		`${GREETING == "hello" ? "yes" : "no"}`:           "yes",
		`%{ if N == "41" }a%{ else }b%{ endif }`:          "a",
		`%{ for x in jsondecode(LIST) }${x};%{ endfor }`:  "x;y;",
		"$${GREETING} %%{ if }":                           "${GREETING} %{ if }",
		"$$${GREETING}":                                   "$${GREETING}",
		`quote " back \ slash ` + "\n\t<&>":               `quote " back \ slash ` + "\n\t<&>",
	} {
		value, err := e.DecodeConfig(map[string]any{"command": in}, scriptSchema)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := value.GetAttr("command").AsString(); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestDecodeConfigDiagnostics(t *testing.T) {
	t.Parallel()
	e := configEnv()
	for _, tc := range []struct {
		name   string
		config string // JSON
		want   string
	}{
		{
			"unknown option with a hint", `{"command": "x", "argz": 1}`,
			`Invalid label: No argument or block type is named "argz". Did you mean "args"?`,
		},
		{
			"nothing at all", `{}`,
			`Missing required argument: The argument "command" is required, but no definition was found`,
		},
		{
			"unknown variable with a hint", `{"command": "${NOMAD_PORT_webui}"}`,
			`command: Unknown variable: There is no variable named "NOMAD_PORT_webui". Did you mean "NOMAD_PORT_web_ui"?`,
		},
		{
			"unknown attribute of the node", `{"command": "${attr.kernel.nome}"}`,
			`command: Unsupported attribute: This object does not have an attribute named "nome"`,
		},
		{
			"wrong type", `{"command": ["x"]}`,
			`Incorrect attribute value type: Inappropriate value for attribute "command": string required, but have tuple`,
		},
		{
			"text for a number", `{"command": "x", "code": "${GREETING}"}`,
			`Incorrect attribute value type: Inappropriate value for attribute "code": a number is required`,
		},
		{
			"shell default", `{"command": "x", "args": ["-c", "echo ${HOME:+set}"]}`,
			`args: Extra characters after interpolation expression: Template interpolation doesn't expect a colon at this location. ` +
				`Did you intend this to be a literal sequence to be processed as part of another language? ` +
				`If so, you can escape it by starting with "$${" instead of just "${"`,
		},
		{
			"unknown function", `{"command": "${file(\"x\")}"}`,
			`command: Call to unknown function: There is no function named "file"`,
		},
		{
			"fault in a block", `{"command": "x", "mount": [{"target": "${NOPE_AT_ALL}"}, {"targt": "y"}]}`,
			`mount: Unknown variable: There is no variable named "NOPE_AT_ALL"; ` +
				`mount: Invalid label: No argument or block type is named "targt". Did you mean "target"?; ` +
				`mount: Missing required argument: The argument "target" is required, but no definition was found`,
		},
		{
			"several, in the order of the options",
			`{"z": 1, "tty": "maybe", "command": "${NOT_HERE}", "args": "x", "exec_command": "y"}`,
			`Incorrect attribute value type: Inappropriate value for attribute "args": list of string required, but have string; ` +
				`command: Unknown variable: There is no variable named "NOT_HERE"; ` +
				`Incorrect JSON value type: Either a JSON object or a JSON array is required, representing the contents of one or more "exec_command" blocks; ` +
				`Incorrect attribute value type: Inappropriate value for attribute "tty": a bool is required; ` +
				`Invalid label: No argument or block type is named "z"`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for range 5 { // HCL reports in random order
				_, err := e.DecodeConfig(fromJSON(t, tc.config), scriptSchema)
				if err == nil {
					t.Fatal("no error")
				}
				if diff := cmp.Diff("failed to parse config: "+tc.want, err.Error()); diff != "" {
					t.Fatalf("-want +got:\n%s", diff)
				}
			}
		})
	}
}

func TestDecodeConfigRefusesWhatJSONCannotSay(t *testing.T) {
	t.Parallel()
	_, err := configEnv().DecodeConfig(map[string]any{"command": "x", "code": math.NaN()}, scriptSchema)
	if _, ok := errors.AsType[*ConfigError](err); !ok {
		t.Errorf("got %v", err)
	}
}

func TestDecodeConfigWithoutOptions(t *testing.T) {
	t.Parallel()
	schema := hcldec.ObjectSpec{"x": attr("x", cty.String)}
	for _, config := range []map[string]any{nil, {}} {
		value, err := configEnv().DecodeConfig(config, schema)
		if err != nil || !value.GetAttr("x").IsNull() {
			t.Errorf("got %#v, %v", value, err)
		}
	}
}

func fromJSON(tb testing.TB, text string) (config map[string]any) {
	tb.Helper()
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		tb.Fatal(err)
	}
	return config
}

func TestDecodeConfigNormalForm(t *testing.T) {
	t.Parallel()
	e := configEnv()
	for _, tc := range []struct {
		name, option string
		forms        []string // of the option, with the same value
		want         string
	}{
		{"map", "labels", []string{`{"a": 1, "k${N}": "v"}`, `[{"a": 1, "k${N}": "v"}]`}, `{"a":"1","k41":"v"}`},
		{"object", "auth", []string{`{"user": "${N}"}`, `[{"user": "${N}"}]`}, `{"user":"41"}`},
		{"list of maps", "ulimit", []string{`{"nofile": 5}`, `[{"nofile": 5}]`}, `[{"nofile":"5"}]`},
		{"list of several maps", "ulimit", []string{`[{"a": 1}, {"b": 2}]`}, `[{"a":"1"},{"b":"2"}]`},
		{"block", "exec_command", []string{
			`{"run_for": "1s", "env": {"A": "${N}"}}`,
			`[{"run_for": "1s", "env": [{"A": "${N}"}]}]`,
		}, `{"env":{"A":"41"},"run_for":"1s"}`},
		{"blocks", "mount", []string{
			`{"target": "/x", "options": [{"o": "${N}"}]}`,
			`[{"target": "/x", "options": {"o": "${N}"}}]`,
		}, `[{"options":{"o":"41"},"target":"/x"}]`},
		{"block of attributes", "sysctl", []string{`{"a": "${N}"}`, `[{"a": "${N}"}]`}, `{"a":"41"}`},
		{"default", "signal", []string{`"SIG${N}"`}, `"SIG41"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, form := range tc.forms {
				config := fromJSON(t, `{"command": "x", "`+tc.option+`": `+form+`}`)
				before, _ := json.Marshal(config)
				value, err := e.DecodeConfig(config, scriptSchema)
				if err != nil {
					t.Fatalf("%s: %v", form, err)
				}
				got := value.GetAttr(tc.option)
				text, err := ctyjson.Marshal(got, got.Type())
				if err != nil || string(text) != tc.want {
					t.Errorf("%s gives %s (%v), want %s", form, text, err, tc.want)
				}
				if after, _ := json.Marshal(config); string(after) != string(before) {
					t.Errorf("the job was changed: %s", after)
				}
			}
		})
	}
}

func TestDecodeConfigAcceptsListsOfMaps(t *testing.T) {
	t.Parallel()
	value, err := configEnv().DecodeConfig(map[string]any{
		"command": "x", "labels": []map[string]any{{"a": true}}, "code": int64(3),
	}, scriptSchema)
	if err != nil {
		t.Fatal(err)
	}
	if got := value.GetAttr("labels").AsValueMap()["a"].AsString(); got != "true" {
		t.Errorf("got %q", got)
	}
}

// TestContextHasUsedNames checks that evaluation with only the used names gives
// the same result as with all names.
func TestContextHasUsedNames(t *testing.T) {
	t.Parallel()
	e := configEnv()
	full := e.evalContext(allNames)
	for _, name := range []string{"GREETING", "env", "node", "attr", "meta", "secret", "NOMAD_META_a", "leaf"} {
		used := names{roots: map[string]bool{name: true}, attrs: map[string]bool{}}
		if name == "attr" || name == "node" {
			used.attrs[""] = true
		}
		narrow := e.evalContext(used)
		if !narrow.Variables[name].RawEquals(full.Variables[name]) {
			t.Errorf("%s: %#v, want %#v", name, narrow.Variables[name], full.Variables[name])
		}
	}
}

// FuzzDecodeConfig looks for panics, and checks that text without a template
// does not change.
func FuzzDecodeConfig(f *testing.F) {
	for _, seed := range []string{
		"plain", "${HOME}", "${", "%{", "$${x}", "${env[\"HOME\"]}", "${attr.cpu.arch}", "%{ if true }a%{ endif }",
		"${jsondecode(\"[1]\")[0]}", "${[for k, v in env : k]}", "\x00\xff", "${NOMAD_META_a.b.c}", "${node[*]}",
		"${substr(HOME, 3, -1)}", "${LIST...}", "${<<EOT\nx\nEOT\n}",
	} {
		f.Add("command", seed)
	}
	f.Add("labels", "${HOME}")
	f.Add("mount", "x")
	f.Add("\n", "no name of an option")
	e := configEnv()
	f.Fuzz(func(t *testing.T, option, text string) {
		for _, value := range []any{text, []any{text}, map[string]any{text: text}, []any{map[string]any{"target": text}}} {
			config := map[string]any{"command": "x", option: value}
			got, err := e.DecodeConfig(config, scriptSchema)
			if err != nil {
				if fault, ok := errors.AsType[*ConfigError](err); !ok || len(fault.Diagnostics) == 0 || strings.Contains(err.Error(), "\n") {
					t.Errorf("%q: not a proper error: %v", config, err)
				}
				continue
			}
			plain := !strings.Contains(text, "${") && !strings.Contains(text, "%{")
			if want := cty.StringVal(strings.ToValidUTF8(text, "\uFFFD")); plain && option == "command" && value == any(text) &&
				utf8Runs(text) && !got.GetAttr("command").RawEquals(want) {
				t.Errorf("%q became %#v", text, got.GetAttr("command"))
			}
		}
	})
}

// utf8Runs reports whether text is valid UTF-8; JSON replaces invalid bytes.
func utf8Runs(text string) bool { return !slices.Contains([]rune(text), '\uFFFD') }
