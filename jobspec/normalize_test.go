package jobspec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

func parseText(t *testing.T, text string) *api.Job {
	t.Helper()
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x", Text: []byte(text)}, jobspec.Options{})
	if file.Job == nil {
		t.Fatal(diagnostics)
	}
	return file.Job
}

func TestTasksInheritTheWholeVaultBlock(t *testing.T) {
	t.Parallel()
	job := parseText(t, `job "x" {
  vault { role = "job" }
  task "bare" {}
  group "with" {
    vault { role = "group" }
    task "without" {}
    task "own" {
      vault { namespace = "n" }
    }
  }
  group "plain" {
    task "t" {}
  }
}`)
	got := map[string]string{}
	for _, group := range job.TaskGroups {
		for _, task := range group.Tasks {
			got[task.Name] = task.Vault.Role
			if task.Vault.ChangeMode == nil || *task.Vault.ChangeMode != "restart" {
				t.Errorf("%s: change_mode is %v", task.Name, task.Vault.ChangeMode)
			}
		}
	}
	if diff := cmp.Diff(map[string]string{"bare": "job", "without": "group", "own": "", "t": "job"}, got); diff != "" {
		t.Error(diff)
	}
	if job.TaskGroups[0].Tasks[0].Vault == job.TaskGroups[2].Tasks[0].Vault {
		t.Error("two tasks share one vault block")
	}
}

func TestSecretsAddUp(t *testing.T) {
	t.Parallel()
	job := parseText(t, `job "x" {
  secret "a" { path = "job" }
  secret "d" { path = "job" }
  group "g" {
    secret "a" { path = "group" }
    secret "b" { path = "group" }
    task "t" {
      secret "a" { path = "task" }
      secret "c" { path = "task" }
    }
    task "u" {}
  }
}`)
	var got []string
	for _, task := range job.TaskGroups[0].Tasks {
		for _, secret := range task.Secrets {
			got = append(got, task.Name+": "+secret.Name+" of "+secret.Path)
		}
	}
	want := []string{
		"t: a of task", "t: c of task", "t: b of group", "t: d of job",
		"u: a of group", "u: b of group", "u: d of job",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPortsAreSplit(t *testing.T) {
	t.Parallel()
	job := parseText(t, `job "x" {
  group "g" {
    network {
      port "a" {}
      port "b" { static = 80 }
      port "c" { to = 8080 }
      port "d" { static = -1 }
      reserved_ports "lost" {}
    }
    network {
      reserved_ports "kept" {}
    }
  }
}`)
	labels := func(ports []api.Port) (got []string) {
		for _, port := range ports {
			got = append(got, port.Label)
		}
		return got
	}
	networks := job.TaskGroups[0].Networks
	got := [][]string{
		labels(networks[0].ReservedPorts), labels(networks[0].DynamicPorts),
		labels(networks[1].ReservedPorts), labels(networks[1].DynamicPorts),
	}
	if diff := cmp.Diff([][]string{{"b"}, {"a", "c", "d"}, {"kept"}, nil}, got); diff != "" {
		t.Error(diff)
	}
}

func TestNameAndID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		`job "j" {}`:                 {"j", "j"},
		`job "j" { id = "other" }`:   {"other", "j"},
		`job "j" { name = "other" }`: {"j", "other"},
		`job j {}`:                   {"j", "j"},
		`{"job":{"j":{}}}`:           {"j", "j"},
	} {
		job := parseText(t, text)
		if got := [2]string{*job.ID, *job.Name}; got != want {
			t.Errorf("%s: ID and name are %v, want %v", text, got, want)
		}
	}
}
