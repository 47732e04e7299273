package jobspec_test

import (
	"fmt"
	"testing"

	"taskrun/jobspec"
)

// An attribute in the wrong block of a job is an error that names the right one.
func TestMisplacedAttributes(t *testing.T) {
	t.Parallel()
	blocks := map[string]string{
		"service": "job \"j\" {\n group \"g\" {\n  service {\n%s\n  }\n }\n}",
		"job":     "job \"j\" {\n%s\n}",
		"group":   "job \"j\" {\n group \"g\" {\n%s\n }\n}",
		"task":    "job \"j\" {\n group \"g\" {\n  task \"t\" {\n%s\n  }\n }\n}",
	}
	for _, tt := range []struct {
		attribute string
		in        []string
		home      string
	}{
		{"datacenters", []string{"group", "task"}, "job"},
		{"namespace", []string{"group"}, "job"},
		{"node_pool", []string{"group", "task"}, "job"},
		{"priority", []string{"group", "task"}, "job"},
		{"region", []string{"group", "task"}, "job"},
		{"count", []string{"job"}, "group"},
		{"max_run_duration", []string{"job", "task"}, "group"},
		{"driver", []string{"job", "group"}, "task"},
		{"kill_signal", []string{"job", "group"}, "task"},
		{"kill_timeout", []string{"job", "group"}, "task"},
		{"leader", []string{"job", "group"}, "task"},
		{"user", []string{"job", "group"}, "task"},
		{"cores", []string{"group", "task"}, "resources"},
		{"cpu", []string{"group", "task"}, "resources"},
		{"memory", []string{"group", "task"}, "resources"},
		{"memory_max", []string{"group", "task"}, "resources"},
		{"command", []string{"service"}, "check"},
		{"args", []string{"group", "task"}, "config"},
		{"command", []string{"group", "task"}, "config"},
		{"image", []string{"group", "task"}, "config"},
		{"ports", []string{"task"}, "config"},
		{"volumes", []string{"task"}, "config"},
		{"attempts", []string{"group", "task"}, "restart"},
		{"cron", []string{"job", "group"}, "periodic"},
		{"crons", []string{"job", "group"}, "periodic"},
		{"destination", []string{"group"}, "template or artifact"},
		{"hook", []string{"group", "task"}, "lifecycle"},
		{"sidecar", []string{"group", "task"}, "lifecycle"},
		{"max_files", []string{"group", "task"}, "logs"},
		{"max_file_size", []string{"group", "task"}, "logs"},
		{"static", []string{"group", "task"}, "port"},
		{"to", []string{"group", "task"}, "port"},
	} {
		for _, in := range tt.in {
			t.Run(tt.attribute+" in "+in, func(t *testing.T) {
				t.Parallel()
				text := fmt.Sprintf(blocks[in], tt.attribute+" = 1")
				_, diags := jobspec.Parse(jobspec.Source{Name: "j", Text: []byte(text)}, jobspec.Options{})
				if want := fmt.Sprintf("it belongs in the %s block", tt.home); len(diags) == 0 || diags[0].Remedy != want {
					t.Errorf("got %+v, want remedy %q", diags, want)
				}
			})
		}
	}
}
