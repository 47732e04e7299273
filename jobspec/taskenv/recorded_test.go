package taskenv

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"
)

// recorded returns the output of a task under a real Nomad 2.0.6.
func recorded(t *testing.T, job, task string) (what struct {
	Stdout          string `json:"stdout"`
	ValidationError string `json:"validation_error"`
},
) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "recorded", job+".json"))
	if err != nil {
		t.Fatal(err)
	}
	tasks := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &tasks); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(tasks[task], &what); err != nil {
		t.Fatal(err)
	}
	return what
}

// printed returns the matching variables in the format of the recorded tasks.
// Their shell drops invalid names, such as NOMAD_META_a.b.
func printed(e *Env, match string) string {
	var out strings.Builder
	for _, entry := range e.List() {
		name, _, _ := strings.Cut(entry, "=")
		if regexp.MustCompile(match).MatchString(entry) && regexp.MustCompile(`^\w+$`).MatchString(name) {
			out.WriteString(entry + "\n")
		}
	}
	return out.String()
}

var rawExecSchema = hcldec.ObjectSpec{
	"command": &hcldec.AttrSpec{Name: "command", Type: cty.String, Required: true},
	"args":    &hcldec.AttrSpec{Name: "args", Type: cty.List(cty.String)},
}

func TestRecordedMetaAndEnv(t *testing.T) {
	t.Parallel()
	task := &api.Task{
		Name: "t",
		Meta: map[string]string{"owner": "task", "my-key": "dash", "a.b": "dot"},
		Env: map[string]string{
			"GREETING": "hi ${NOMAD_META_owner} from ${meta.team} on ${attr.kernel.name}",
			"WHERE":    "${NOMAD_TASK_DIR}/x",
			"UNKNOWN":  "[${NOMAD_META_nothing}][${attr.no.such}]",
			"DOLLAR":   "${NOT_ME} $HOME",
		},
		Resources: &api.Resources{CPU: new(10), MemoryMB: new(10)},
	}
	group := &api.TaskGroup{Name: new("g"), Tasks: []*api.Task{task}, Meta: map[string]string{"owner": "group", "tier": "group"}}
	job := &api.Job{
		ID: new("meta-env"), Type: new("batch"), TaskGroups: []*api.TaskGroup{group},
		Meta: map[string]string{"team": "job", "owner": "job"},
	}
	job.Canonicalize()
	b := NewBuilder(testNode(), AllocInfo{ID: allocID, Name: "meta-env.g[0]"}, job, group, task).SetClientDir("/DATA/ALLOC")
	b.HostEnv = []string{"HOME=/root"}
	got := printed(b.Build(), "^NOMAD_(META|TASK_NAME|GROUP_NAME|JOB_NAME|JOB_ID|ALLOC_NAME|ALLOC_INDEX|REGION|DC|NAMESPACE|CPU_LIMIT|MEMORY_LIMIT)"+
		"|^GREETING|^WHERE|^UNKNOWN|^DOLLAR")
	if diff := cmp.Diff(recorded(t, "meta-env", "t").Stdout, got); diff != "" {
		t.Errorf("-recorded +got:\n%s", diff)
	}
}

func TestRecordedPorts(t *testing.T) {
	t.Parallel()
	job, group, task := testJob()
	b := testBuilder(job, group, task)
	b.Ports = []Port{
		{Label: "http", Value: 23456, HostIP: "127.0.0.1"},
		{Label: "admin", Value: 18080, HostIP: "127.0.0.1"},
		{Label: "web-ui", Value: 23457, To: 80, HostIP: "127.0.0.1"},
	}
	got := printed(b.Build(), "^NOMAD_(PORT|IP|ADDR|HOST_PORT|HOST_ADDR|HOST_IP|ALLOC_PORT)")
	got = regexp.MustCompile(`[0-9]{5}`).ReplaceAllString(got, "DYN")
	got = strings.ReplaceAll(got, "127.0.0.1", "IP")
	if diff := cmp.Diff(recorded(t, "ports", "t").Stdout, got); diff != "" {
		t.Errorf("-recorded +got:\n%s", diff)
	}
}

func TestRecordedConfigEvaluation(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"t-x", "t-y"} {
		job, group, task := testJob()
		task.Name = name
		value, err := testBuilder(job, group, task).Build().DecodeConfig(map[string]any{
			"command": "/bin/echo",
			"args":    []any{"HELLO-4", strings.TrimPrefix(name, "t-"), "${NOMAD_TASK_NAME}", `{"a":[1,true]}`},
		}, rawExecSchema)
		if err != nil {
			t.Fatal(err)
		}
		var args []string
		for _, arg := range value.GetAttr("args").AsValueSlice() {
			args = append(args, arg.AsString())
		}
		if got, want := strings.Join(args, " ")+"\n", recorded(t, "hcl2", name).Stdout; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestRecordedConfigDiagnostic compares errors with Nomad's text, a heading and
// a list.
func TestRecordedConfigDiagnostic(t *testing.T) {
	t.Parallel()
	_, err := configEnv().DecodeConfig(map[string]any{
		"command": "/bin/sh",
		"args":    []any{"-c", "pwd; echo PATH=${PATH:+set} HOME=${HOME:+set}\n"},
	}, rawExecSchema)
	fault, ok := errors.AsType[*ConfigError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	lines := []string{"failed to parse config: "}
	for _, f := range fault.Diagnostics {
		lines = append(lines, f.String())
	}
	got := "2 errors occurred:\n\t* " + strings.Join(lines, "\n\t* ") + "\n\n"
	if diff := cmp.Diff(recorded(t, "cwd-default", "t").ValidationError, got); diff != "" {
		t.Errorf("-recorded +got:\n%s", diff)
	}
}
