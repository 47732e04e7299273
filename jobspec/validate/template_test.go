package validate

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

func TestTemplateRules(t *testing.T) {
	t.Parallel()
	template := func(edit func(*api.Template)) func(*api.Task) {
		return func(t *api.Task) {
			tmpl := &api.Template{EmbeddedTmpl: new("x"), DestPath: new("local/x")}
			edit(tmpl)
			t.Templates = []*api.Template{tmpl}
		}
	}
	const at = inTask + ".template[0]"
	checkFaults(t, []fault{
		{name: "valid", task: template(func(*api.Template) {})},
		{name: "signal", task: template(func(k *api.Template) { k.ChangeMode, k.ChangeSignal = new("signal"), new("sighup") })},
		{name: "script", task: template(func(k *api.Template) {
			k.ChangeMode, k.ChangeScript = new("script"), &api.ChangeScript{Command: new("/x")}
		})},
		{name: "nothing to render", task: template(func(k *api.Template) { k.EmbeddedTmpl = nil }), want: []string{at + ": template has no source and no data"}},
		{name: "source and data", task: template(func(k *api.Template) { k.SourcePath = new("local/t") }), want: []string{at + ": source and data exclude each other"}},
		{
			name: "source outside", task: template(func(k *api.Template) { k.EmbeddedTmpl, k.SourcePath = nil, new("../../x") }),
			want: []string{"warning job.group[0].task[0].template[0].source: source lies outside of the task"},
		},
		{
			name: "absolute source", task: template(func(k *api.Template) { k.EmbeddedTmpl, k.SourcePath = nil, new("/etc/x") }),
			want: []string{"warning job.group[0].task[0].template[0].source: source lies outside of the task"},
		},
		{name: "source in the shared directory", task: template(func(k *api.Template) { k.EmbeddedTmpl, k.SourcePath = nil, new("${NOMAD_ALLOC_DIR}/x") })},
		{
			name: "source in the task", task: func(t *api.Task) {
				template(func(k *api.Template) { k.EmbeddedTmpl, k.SourcePath = nil, new("${NOMAD_TASK_DIR}/x") })(t)
				t.Artifacts = []*api.TaskArtifact{{GetterSource: new("https://x/y")}}
			},
		},
		{
			name: "source of an earlier template", task: func(t *api.Task) {
				template(func(k *api.Template) { k.DestPath = new("local/y") })(t)
				t.Templates = append(t.Templates, &api.Template{SourcePath: new("${NOMAD_TASK_DIR}/y"), DestPath: new("local/x")})
			},
		},
		{
			name: "nobody brings the source", task: template(func(k *api.Template) { k.EmbeddedTmpl, k.SourcePath = nil, new("${NOMAD_TASK_DIR}/x") }),
			want: []string{"warning job.group[0].task[0].template[0].source: nothing brings the source"},
		},
		{
			name: "another task may bring the source", task: template(func(k *api.Template) { k.EmbeddedTmpl, k.SourcePath = nil, new("${NOMAD_TASK_DIR}/x") }),
			group: func(g *api.TaskGroup) { g.Tasks = append(g.Tasks, &api.Task{Name: "u", Driver: "raw_exec"}) },
		},
		{
			name: "an earlier allocation may bring the source", task: template(func(k *api.Template) { k.EmbeddedTmpl, k.SourcePath = nil, new("${NOMAD_TASK_DIR}/x") }),
			group: func(g *api.TaskGroup) { g.EphemeralDisk = &api.EphemeralDisk{Sticky: new(true)} },
		},
		{name: "no perms", task: template(func(k *api.Template) { k.Perms = new("") })},
		{name: "all perms", task: template(func(k *api.Template) { k.Perms = new("0777") })},
		{name: "no destination", task: template(func(k *api.Template) { k.DestPath = nil }), want: []string{at + ": template has no destination"}},
		{name: "shared directory", task: template(func(k *api.Template) { k.DestPath = new("../alloc/x") })},
		{name: "absolute", task: template(func(k *api.Template) { k.DestPath = new("/etc/x") })},
		{name: "reference", task: template(func(k *api.Template) { k.DestPath = new("${NOMAD_ALLOC_DIR}/x") })},
		{name: "other task", task: template(func(k *api.Template) { k.DestPath = new("../u/x") }), want: []string{at + ".destination: destination lies outside of the task"}},
		{name: "escapes", task: template(func(k *api.Template) { k.DestPath = new("../../x") }), want: []string{at + ".destination: destination lies outside of the allocation"}},
		{name: "change mode", task: template(func(k *api.Template) { k.ChangeMode = new("reload") }), want: []string{at + ".change_mode: unknown change mode"}},
		{name: "no signal", task: template(func(k *api.Template) { k.ChangeMode, k.ChangeSignal = new("signal"), new("") }), want: []string{at + ": change_signal is missing"}},
		{name: "unknown signal", task: template(func(k *api.Template) { k.ChangeMode, k.ChangeSignal = new("signal"), new("SIGWHAT") }), want: []string{at + ".change_signal: unknown signal"}},
		{
			name: "signal with env", task: template(func(k *api.Template) { k.ChangeMode, k.Envvars = new("signal"), new(true) }),
			want: []string{at + ".change_mode: signal does not go with env = true"},
		},
		{name: "no script", task: template(func(k *api.Template) { k.ChangeMode = new("script") }), want: []string{at + ": change_script is missing"}},
		{
			name: "script without command", task: template(func(k *api.Template) { k.ChangeMode, k.ChangeScript = new("script"), &api.ChangeScript{} }),
			want: []string{at + ".change_script: change_script has no command"},
		},
		{name: "splay", task: template(func(k *api.Template) { k.Splay = new(-time.Second) }), want: []string{at + ".splay: splay is negative"}},
		{name: "perms", task: template(func(k *api.Template) { k.Perms = new("rw-r--r--") }), want: []string{at + ".perms: perms is not an octal mode"}},
		{name: "perms of 13 bits", task: template(func(k *api.Template) { k.Perms = new("10000") }), want: []string{at + ".perms: perms is not an octal mode"}},
		{name: "setuid", task: template(func(k *api.Template) { k.Perms = new("4755") }), want: []string{"warning job.group[0].task[0].template[0].perms: perms has more than permission bits"}},
		{
			name: "wait", task: template(func(k *api.Template) { k.Wait = &api.WaitConfig{Min: new(10 * time.Second), Max: new(5 * time.Second)} }),
			want: []string{at + ".wait: wait.min is above wait.max"},
		},
		{name: "wait.min is wait.max", task: template(func(k *api.Template) { k.Wait = &api.WaitConfig{Min: new(5 * time.Second), Max: new(5 * time.Second)} })},
		{name: "wait.min alone", task: template(func(k *api.Template) { k.Wait = &api.WaitConfig{Min: new(10 * time.Second)} })},
		{name: "vault_grace", task: template(func(k *api.Template) { k.VaultGrace = new(time.Second) }), want: []string{"hint job.group[0].task[0].template[0].vault_grace: vault_grace has no effect"}},
		{
			name: "one destination twice", task: func(t *api.Task) {
				t.Templates = []*api.Template{{EmbeddedTmpl: new("x"), DestPath: new("local/x")}, {EmbeddedTmpl: new("y"), DestPath: new("local/x")}}
			},
			want: []string{inTask + ".template[1].destination: templates need destinations of their own"},
		},
	})
}

func TestArtifactRules(t *testing.T) {
	t.Parallel()
	artifact := func(a api.TaskArtifact) func(*api.Task) {
		if a.GetterSource == nil {
			a.GetterSource = new("https://files.example/a.zip")
		}
		return func(t *api.Task) { t.Artifacts = []*api.TaskArtifact{&a} }
	}
	checksum := func(sum string) func(*api.Task) {
		return artifact(api.TaskArtifact{GetterOptions: map[string]string{"checksum": sum}})
	}
	const at = inTask + ".artifact[0]"
	checkFaults(t, []fault{
		{name: "valid", task: artifact(api.TaskArtifact{GetterMode: new("file"), RelativeDest: new("local/x")})},
		{name: "no source", task: artifact(api.TaskArtifact{GetterSource: new("")}), want: []string{at + ": artifact has no source"}},
		{name: "local file", task: artifact(api.TaskArtifact{GetterSource: new("file:///x")}), want: []string{"warning job.group[0].task[0].artifact[0].source: source is a local file"}},
		{name: "query in the name", task: artifact(api.TaskArtifact{GetterSource: new("https://x/y?z=1"), GetterMode: new("file")}), want: []string{"warning job.group[0].task[0].artifact[0].source: the query of the source becomes part of the file's name"}},
		{name: "mode", task: artifact(api.TaskArtifact{GetterMode: new("archive")}), want: []string{at + ".mode: unknown artifact mode"}},
		{name: "escapes", task: artifact(api.TaskArtifact{RelativeDest: new("../../x")}), want: []string{at + ".destination: destination lies outside of the allocation"}},
		{name: "other task", task: artifact(api.TaskArtifact{RelativeDest: new("../u/local")}), want: []string{at + ".destination: destination lies outside of the task"}},
		{name: "sha256", task: checksum(" sha256:" + strings.Repeat("a0", 32))},
		{name: "reference", task: checksum("md5:${meta.sum}")},
		{name: "empty checksum", task: checksum(""), want: []string{at + ".options.checksum: invalid checksum"}},
		{name: "bare checksum", task: checksum(strings.Repeat("a0", 32)), want: []string{at + ".options.checksum: invalid checksum"}},
		{name: "unknown checksum", task: checksum("crc32:abcd"), want: []string{at + ".options.checksum: unknown kind of checksum"}},
		{name: "short checksum", task: checksum("md5:abc"), want: []string{at + ".options.checksum: invalid checksum"}},
		{name: "checksum of letters", task: checksum("md5:" + strings.Repeat("xy", 16)), want: []string{at + ".options.checksum: invalid checksum"}},
	})
}
