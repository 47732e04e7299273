package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/record"
	"taskrun/cmd/report/compare"
	kept "taskrun/hooks/environment"
)

// Limits of the files of a run that a comparison reads.
const (
	maxEnvironments = 256 << 20
	maxTemplate     = 1 << 20
)

// addEnvironments adds the environments of the tasks of a run to the comparison, if
// they were kept.
func addEnvironments(r *record.Run, b *compare.Builder) error {
	f, err := r.File(kept.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the environments of run %s: %w", r.Name(), err)
	}
	defer f.Close()
	b.Knows(compare.Variable)
	for dec := json.NewDecoder(io.LimitReader(f, maxEnvironments)); ; {
		var e kept.Entry
		switch err := dec.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the environments of run %s are damaged: %w", r.Name(), err)
		}
		b.SetVariables(e.Alloc, e.Task, e.Env)
	}
}

// addTemplates adds what the templates of a run have rendered, as it lies in the
// directories of its tasks. Exported runs and secrets/ have none.
func addTemplates(r *record.Run, spec *api.Job, b *compare.Builder) {
	if info, err := os.Stat(r.Dir); err != nil || !info.IsDir() || spec == nil {
		return // there is nothing to compare
	}
	b.Knows(compare.Template)
	for id, groupName := range b.Allocs() {
		group := spec.LookupTaskGroup(groupName)
		if group == nil {
			continue
		}
		for _, t := range group.Tasks {
			addTemplatesOf(r, id, t, b)
		}
	}
}

func addTemplatesOf(r *record.Run, alloc string, t *api.Task, b *compare.Builder) {
	for _, template := range t.Templates {
		if template == nil || template.DestPath == nil || path.Base(alloc) != alloc || path.Base(t.Name) != t.Name {
			continue
		}
		rendered, ok := renderedPath(t.Name, *template.DestPath)
		if !ok {
			continue
		}
		f, err := r.File(path.Join("alloc", alloc, rendered))
		if err != nil {
			continue // it was not rendered, or the task has removed it
		}
		text, err := io.ReadAll(io.LimitReader(f, maxTemplate))
		_ = f.Close()
		if err == nil {
			b.AddTemplate(alloc, t.Name, *template.DestPath, string(text))
		}
	}
}

// renderedPath returns where the destination of a template is in the directory of an
// allocation. It is not ok if that depends on more than the task, or if it has gone
// with the secrets.
func renderedPath(task, destination string) (rendered string, ok bool) {
	for variable, dir := range map[string]string{"NOMAD_TASK_DIR": "local", "NOMAD_ALLOC_DIR": "../alloc"} {
		destination = strings.Replace(destination, "${"+variable+"}", dir, 1)
	}
	rendered = path.Join(task, destination)
	inside := strings.HasPrefix(rendered, "alloc/") || strings.HasPrefix(rendered, task+"/")
	return rendered, inside && !strings.Contains(destination, "${") && !strings.HasPrefix(rendered, task+"/secrets/")
}
