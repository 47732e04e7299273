package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/pflag"
)

// options are bound to a command's flags.
type options struct {
	dir     string
	timeout time.Duration
	fast    bool
	vars    []string
}

func flagsOf(o *options) *pflag.FlagSet {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.StringVar(&o.dir, "data-dir", "default", "")
	flags.DurationVar(&o.timeout, "timeout", time.Second, "")
	flags.BoolVar(&o.fast, "fail-fast", false, "")
	flags.StringArrayVar(&o.vars, "var", nil, "")
	return flags
}

// write writes a config file and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// apply resolves args, environment and file.
func apply(t *testing.T, args []string, env map[string]string, file string) (options, error) {
	t.Helper()
	var o options
	flags := flagsOf(&o)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	_, err := Apply(flags, Sources{
		Env: func(name string) string { return env[name] }, File: file, Keys: func() []string { return append(Options(flags), "of-another-command") },
	})
	return o, err
}

func TestFlagBeatsEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	t.Parallel()
	args := []string{"--data-dir=flag", "--timeout=4s", "--fail-fast=false", "--var=from=flag"}
	env := map[string]string{
		"TASKRUN_DATA_DIR": "env", "TASKRUN_TIMEOUT": "3s", "TASKRUN_FAIL_FAST": "true",
		"TASKRUN_VAR": "from=env\nmsg=hello, world\n",
	}
	files := map[string]string{
		"config.hcl":  "data-dir = \"file\"\ntimeout = \"2s\"\nfail-fast = true\nvar = [\"from=file\", \"Case=Kept\"]\nof-another-command = 1\n",
		"config.toml": "data-dir = \"file\"\ntimeout = \"2s\"\nfail-fast = true\nvar = [\"from=file\", \"Case=Kept\"]\nof-another-command = 1\n",
		"config.yaml": "data-dir: file\ntimeout: 2s\nfail-fast: true\nvar: [from=file, Case=Kept]\nof-another-command: 1\n",
		"config.json": `{"data-dir": "file", "timeout": "2s", "fail-fast": true, "var": ["from=file", "Case=Kept"], "of-another-command": 1}`,
	}
	for name, text := range files {
		file := write(t, name, text)
		for _, c := range []struct {
			name string
			args []string
			env  map[string]string
			file string
			want options
		}{
			{"default", nil, nil, "", options{"default", time.Second, false, nil}},
			{"file", nil, nil, file, options{"file", 2 * time.Second, true, []string{"from=file", "Case=Kept"}}},
			{"environment", nil, env, file, options{"env", 3 * time.Second, true, []string{"from=env", "msg=hello, world"}}},
			{"flag", args, env, file, options{"flag", 4 * time.Second, false, []string{"from=flag"}}},
			{"empty variable is unset", nil, map[string]string{"TASKRUN_DATA_DIR": ""}, file, options{"file", 2 * time.Second, true, []string{"from=file", "Case=Kept"}}},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				got, err := apply(t, c.args, c.env, c.file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(options{})); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestWrongConfigIsRefusedWithItsOrigin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, text string
		env              map[string]string
		want             []string
	}{
		{"unknown key", "config.toml", "data_dir = \"x\"\n", nil, []string{"config.toml", `unknown key "data_dir": did you mean "data-dir"?`}},
		{"unknown table", "config.toml", "[up]\noutput = \"json\"\n", nil, []string{`unknown key "up": keys are flags without the dashes: `, "data-dir"}},
		{"table where a list is needed", "config.yaml", "var:\n  name: value\n", nil, []string{`key "var"`, "write a list"}},
		{"list where one value is needed", "config.yaml", "timeout: [1s, 2s]\n", nil, []string{`key "timeout"`, "not a list"}},
		{"wrong value in the file", "config.yaml", "timeout: soon\n", nil, []string{"config.yaml", `key "timeout"`, "soon"}},
		{"wrong value in the environment", "", "", map[string]string{"TASKRUN_TIMEOUT": "soon"}, []string{"TASKRUN_TIMEOUT", "soon"}},
		{"unknown key in HCL", "config.hcl", "timeout = \"1s\"\n\ndata_dir = \"x\"\n", nil, []string{"config.hcl:3", `unknown key "data_dir"`, "data-dir"}},
		{"unknown block in HCL", "config.hcl", "\nclient {\n}\n", nil, []string{"config.hcl:2", "client"}},
		{"map where a list is needed in HCL", "config.hcl", "var = {\n name = \"value\"\n}\n", nil, []string{"config.hcl:1", `key "var"`, "write a list"}},
		{"list where one value is needed in HCL", "config.hcl", "\ntimeout = [\"1s\", \"2s\"]\n", nil, []string{"config.hcl:2", `key "timeout"`, "not a list"}},
		{"wrong value in HCL", "config.hcl", "\n\ntimeout = \"soon\"\n", nil, []string{"config.hcl:3", `key "timeout"`, "soon"}},
		{"null in HCL", "config.hcl", "timeout = null\n", nil, []string{"config.hcl:1", `key "timeout"`, "it has no value"}},
		{"reference in HCL", "config.hcl", "timeout = var.x\n", nil, []string{"config.hcl:1", "ariables"}},
		{"syntax error in HCL", "config.hcl", "timeout = \"1s\"\nfail-fast = {\n", nil, []string{"config.hcl:"}},
		{"null in a list", "config.yaml", "var: [a=1, null]\n", nil, []string{`key "var"`, "it has no value"}},
		{"null in a list in HCL", "config.hcl", "var = [\"a=1\", null]\n", nil, []string{"config.hcl:1", `key "var"`, "it has no value"}},
		{"map in a list in HCL", "config.hcl", "var = [{}]\n", nil, []string{"config.hcl:1", "write a list"}},
		{"the first of two faults in HCL", "config.hcl", "\nclient {\n}\nserver {\n}\n", nil, []string{"config.hcl:2", "client"}},
		{"the first of two unknown keys in HCL", "config.hcl", "b_b = 1\na_a = 1\n", nil, []string{"config.hcl:1", `unknown key "b_b"`}},
		{"the first of two wrong keys in HCL", "config.hcl", "var = null\ntimeout = null\n", nil, []string{"config.hcl:1", `key "var"`}},
		{"syntax error", "config.json", "{", nil, []string{"cannot read config file", "config.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := ""
			if c.file != "" {
				file = write(t, c.file, c.text)
			}
			_, err := apply(t, nil, c.env, file)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestMissingFileIsAnErrorOnlyWhenNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"config.toml", "config.hcl"} {
		if _, err := apply(t, nil, nil, filepath.Join(t.TempDir(), name)); err == nil || !strings.HasPrefix(err.Error(), "cannot read config file") {
			t.Errorf("%s does not exist: %v", name, err)
		}
	}
	if path, err := Find(func(string) string { return "" }); path != "" || err != nil {
		t.Errorf("found %q, %v without a home", path, err)
	}
	home := t.TempDir()
	path, err := Find(func(name string) string { return map[string]string{"HOME": home}[name] })
	if path != "" || err != nil {
		t.Errorf("found %q, %v in an empty home", path, err)
	}
}

func TestFileIsFoundInTheConfigDirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		env   func(root string) map[string]string
		files []string
		want  string // "": an error
	}{
		{"below HOME", func(r string) map[string]string { return map[string]string{"HOME": r} }, []string{".config/taskrun/config.yaml"}, ".config/taskrun/config.yaml"},
		{"XDG_CONFIG_HOME", func(r string) map[string]string {
			return map[string]string{"HOME": r, "XDG_CONFIG_HOME": filepath.Join(r, "xdg")}
		}, []string{"xdg/taskrun/config.json", ".config/taskrun/config.toml"}, "xdg/taskrun/config.json"},
		{"HCL", func(r string) map[string]string { return map[string]string{"HOME": r} }, []string{".config/taskrun/config.hcl"}, ".config/taskrun/config.hcl"},
		{"relative XDG_CONFIG_HOME is ignored", func(r string) map[string]string {
			return map[string]string{"HOME": r, "XDG_CONFIG_HOME": "xdg"}
		}, []string{".config/taskrun/config.toml"}, ".config/taskrun/config.toml"},
		{"a yml file", func(r string) map[string]string { return map[string]string{"HOME": r} }, []string{".config/taskrun/config.yml", ".config/taskrun/other.toml"}, ".config/taskrun/config.yml"},
		{"two files", func(r string) map[string]string { return map[string]string{"HOME": r} }, []string{".config/taskrun/config.yaml", ".config/taskrun/config.toml"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for _, name := range c.files {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			env := c.env(root)
			got, err := Find(func(name string) string { return env[name] })
			if c.want == "" {
				if err == nil {
					t.Errorf("chose %q of two", got)
				}
				return
			}
			if err != nil || got != filepath.Join(root, c.want) {
				t.Errorf("found %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// Variables that Nomad spells differently have both names; taskrun's own has
// precedence.
func TestVariablesAsNomadSpellsThem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flag, want string
		env        map[string]string
	}{
		{"address", "a", map[string]string{"TASKRUN_ADDR": "a"}},
		{"address", "b", map[string]string{"TASKRUN_ADDR": "a", "TASKRUN_ADDRESS": "b"}},
		{"ca-cert", "a", map[string]string{"TASKRUN_CACERT": "a"}},
		{"ca-path", "a", map[string]string{"TASKRUN_CAPATH": "a"}},
		{"tls-skip-verify", "a", map[string]string{"TASKRUN_SKIP_VERIFY": "a"}},
		{"data-dir", "default", map[string]string{"": "a", "TASKRUN_ADDR": "a"}},
	} {
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		value := flags.String(tt.flag, "default", "")
		_, err := Apply(flags, Sources{Env: func(name string) string { return tt.env[name] }})
		if err != nil || *value != tt.want {
			t.Errorf("%s by %v: %q, %v, want %q", tt.flag, tt.env, *value, err, tt.want)
		}
	}
}

// Flags that only the command line may set are not valid keys, and neither the
// environment nor a file can set them.
func TestFlagsOfTheCommandLineAlone(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	values := map[string]*string{}
	for _, name := range []string{"config", "help", "other", "version"} {
		values[name] = flags.String(name, "default", "")
	}
	if got := Options(flags); len(got) != 1 || got[0] != "other" {
		t.Errorf("options %q", got)
	}
	if _, err := Apply(flags, Sources{Env: func(string) string { return "changed" }}); err != nil {
		t.Fatal(err)
	}
	for name, value := range values {
		if (*value == "changed") != (name == "other") {
			t.Errorf("--%s is %q", name, *value)
		}
	}
	// The first error ends it.
	wrong := pflag.NewFlagSet("test", pflag.ContinueOnError)
	wrong.Bool("a", false, "")
	wrong.Bool("b", false, "")
	_, err := Apply(wrong, Sources{Env: func(name string) string { return name }})
	if err == nil || !strings.HasPrefix(err.Error(), "cannot use TASKRUN_A: ") {
		t.Errorf("error %v", err)
	}
}

// Values of other types reach a flag as text: lines of a variable without empty
// ones, and numbers, booleans and sets of a file.
func TestTextsOfValues(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"config.hcl": "fail-fast = \"true\"\nvar = [1, true, [\"x\"]]\n", "config.yaml": "fail-fast: true\nvar: [1, true, [x]]\n",
	} {
		got, err := apply(t, nil, nil, write(t, name, text))
		if want := []string{"1", "true", "x"}; err != nil || !got.fast || !cmp.Equal(got.vars, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	got, err := apply(t, nil, map[string]string{"TASKRUN_VAR": "\n a=1\r\n\nb=2", "TASKRUN_DATA_DIR": "two\nlines\n"}, "")
	if want := []string{" a=1", "b=2"}; err != nil || !cmp.Equal(got.vars, want) || got.dir != "two\nlines\n" {
		t.Errorf("%q, %v", got.vars, err)
	}
}

// Of several errors, the first one in the file is shown; one without a place
// comes before all others, and a warning is no error.
func TestFirstFault(t *testing.T) {
	t.Parallel()
	fault := func(severity hcl.DiagnosticSeverity, start int) *hcl.Diagnostic {
		return &hcl.Diagnostic{Severity: severity, Subject: &hcl.Range{Start: hcl.Pos{Byte: start}}}
	}
	begin, later, warning := fault(hcl.DiagError, 0), fault(hcl.DiagError, 7), fault(hcl.DiagWarning, 0)
	nowhere := &hcl.Diagnostic{Severity: hcl.DiagError}
	for name, c := range map[string]struct {
		diags hcl.Diagnostics
		want  *hcl.Diagnostic
	}{
		"none":                    {nil, nil},
		"only a warning":          {hcl.Diagnostics{warning}, nil},
		"a warning before":        {hcl.Diagnostics{warning, later}, later},
		"in order":                {hcl.Diagnostics{begin, later}, begin},
		"out of order":            {hcl.Diagnostics{later, begin}, begin},
		"the last has no place":   {hcl.Diagnostics{begin, nowhere}, nowhere},
		"the first has no place":  {hcl.Diagnostics{nowhere, begin}, nowhere},
		"two at the same place":   {hcl.Diagnostics{later, fault(hcl.DiagError, 7)}, later},
		"a warning without place": {hcl.Diagnostics{{Severity: hcl.DiagWarning}, begin}, begin},
	} {
		if got := first(c.diags); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
