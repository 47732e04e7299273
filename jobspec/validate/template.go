package validate

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

func (t *task) templates() {
	first := make(map[string]int, len(t.t.Templates))
	for i, tmpl := range t.t.Templates {
		tmpl, at := orEmpty(tmpl), t.at.Index("template", i)
		(&template{t, tmpl, at}).check()
		dest := deref(tmpl.DestPath)
		if other, ok := first[dest]; ok && dest != "" {
			t.refuse(at.Attr("destination"), "templates need destinations of their own",
				fmt.Sprintf("templates %d and %d both write %q", other+1, i+1, dest), "write another destination")
		} else {
			first[dest] = i
		}
	}
}

type template struct {
	task *task
	*api.Template
	at jobspec.Path
}

// check checks the template.
// https://developer.hashicorp.com/nomad/docs/job-specification/template
func (t *template) check() {
	source, data := deref(t.SourcePath), deref(t.EmbeddedTmpl)
	switch {
	case source == "" && data == "":
		t.task.refuse(t.at, "template has no source and no data", "", "add data = … or source = …")
	case source != "" && data != "":
		t.task.refuse(t.at, "source and data exclude each other", "Nomad accepts both, and the task fails at its start", "keep one of them")
	case path.IsAbs(source) || leavesTask(t.task.t.Name, source):
		t.task.warn(t.at.Attr("source"), "source lies outside of the task", fmt.Sprintf("%q", source), "write a path below ${NOMAD_TASK_DIR} or ${NOMAD_ALLOC_DIR}")
	case source != "" && t.nothingBrings():
		t.task.warn(t.at.Attr("source"), "nothing brings the source",
			fmt.Sprintf("%q is looked for in the task's directory, which is new", source),
			fmt.Sprintf("add an artifact that brings it, or read it from here: data = file(%q)", path.Base(source)))
	}
	if deref(t.DestPath) == "" {
		t.task.refuse(t.at, "template has no destination", "", `add destination = "local/NAME"`)
	} else {
		t.task.destination(*t.DestPath, t.at)
	}
	t.change()
	t.task.notNegative(t.at.Attr("splay"), t.Splay)
	t.perms()
	if w := t.Wait; w != nil && w.Min != nil && w.Max != nil && *w.Min > *w.Max {
		t.task.refuse(t.at.Attr("wait"), "wait.min is above wait.max", fmt.Sprintf("min is %s and max is %s", plain(*w.Min), plain(*w.Max)), "lower min or raise max")
	}
	t.task.noEffect(t.at.Attr("vault_grace"), deref(t.VaultGrace) != 0, "remove it")
}

// nothingBrings reports whether the source of a template cannot exist in the
// task's own directory when it is rendered. Files from other tasks are unknown.
func (t *template) nothingBrings() bool {
	source := ownDirs.Replace(*t.SourcePath)
	disk := t.task.g.tg.EphemeralDisk
	switch {
	case strings.Contains(source, "${") || strings.HasPrefix(path.Clean(source), "../"):
		return false
	case len(t.task.t.Artifacts) > 0 || len(t.task.t.VolumeMounts) > 0 || t.task.t.DispatchPayload != nil:
		return false
	case disk != nil && (deref(disk.Sticky) || deref(disk.Migrate)) || len(t.task.g.tg.Tasks) > 1:
		return false
	}
	return !slices.ContainsFunc(t.task.t.Templates, func(other *api.Template) bool {
		return other != nil && other != t.Template && path.Clean(ownDirs.Replace(deref(other.DestPath))) == path.Clean(source)
	})
}

// ownDirs replaces the variables of a task's directories by their paths in the
// task's own directory.
var ownDirs = strings.NewReplacer("${NOMAD_TASK_DIR}", "local", "${NOMAD_SECRETS_DIR}", "secrets")

func (t *template) change() {
	mode := deref(t.ChangeMode)
	t.task.choice(t.at.Attr("change_mode"), "change mode", mode, "noop", "restart", "signal", "script")
	t.task.changeSignal(t.at, mode, deref(t.ChangeSignal))
	if mode == "signal" && deref(t.Envvars) {
		t.task.refuse(t.at.Attr("change_mode"), "signal does not go with env = true",
			"a running process cannot get new environment variables", `write change_mode = "restart" or "noop"`)
	}
	if mode != "script" {
		return
	}
	if t.ChangeScript == nil {
		t.task.refuse(t.at, "change_script is missing", `change_mode is "script"`, "add change_script { command = … }")
	} else if deref(t.ChangeScript.Command) == "" {
		t.task.refuse(t.at.Attr("change_script"), "change_script has no command", "", `add command = "/PATH"`)
	}
}

func (t *template) perms() {
	perms, at := deref(t.Perms), t.at.Attr("perms")
	if perms == "" {
		return
	}
	mode, err := strconv.ParseUint(perms, 8, 12)
	switch {
	case err != nil:
		t.task.wrong(at, "perms is not an octal mode", fmt.Sprintf("%q", perms), `write "0644" or the like`)
	case mode > 0o777:
		t.task.warn(at, "perms has more than permission bits", fmt.Sprintf("%q; rendering the template fails", perms), `write "0000" to "0777"`)
	}
}

// destination refuses a path to which a template or an artifact may not write.
// An absolute path starts in the task's directory.
func (t *task) destination(dest string, at jobspec.Path) {
	at = at.Attr("destination")
	switch {
	case leavesAllocation("task", dest):
		t.wrong(at, "destination lies outside of the allocation", fmt.Sprintf("%q", dest), `write a path such as "local/NAME"`)
	case leavesTask(t.t.Name, dest):
		t.refuse(at, "destination lies outside of the task",
			fmt.Sprintf("%q; Nomad accepts the job, and the task fails at its start", dest), `write a path such as "local/NAME" or "${NOMAD_ALLOC_DIR}/NAME"`)
	}
}

// leavesAllocation reports whether name, relative to a directory of the
// allocation, is outside of the allocation. Like a Nomad server, it only
// examines the text.
func leavesAllocation(from, name string) bool {
	clean := path.Clean(from + "/" + name)
	return clean == ".." || strings.HasPrefix(clean, "../")
}

// leavesTask reports whether name, relative to the directory of a task, is
// neither in that directory nor in the shared one; a Nomad client refuses it
// then. References that are only known at run time are accepted.
func leavesTask(task, name string) bool {
	if strings.Contains(name, "${") {
		return false
	}
	top, _, _ := strings.Cut(path.Clean(task+"/"+name), "/")
	return top != task && top != "alloc"
}
