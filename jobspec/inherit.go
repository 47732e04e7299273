package jobspec

import (
	"slices"

	"github.com/hashicorp/nomad/api"
)

// inherit gives the tasks the vault and secret blocks of their group and of
// the job. A vault block of a task hides those around it as a whole; secrets
// add up, those of the task first, one for each name.
func inherit(f *forms, a *atlas) {
	for i, group := range f.job.TaskGroups {
		outer := Root.Index("group", i)
		form := f.groups[group]
		if form == nil {
			form = &groupForm{} // of a task outside of groups
		}
		for j, task := range group.Tasks {
			path := outer.Index("task", j)
			if task.Vault == nil && len(form.Vaults) > 0 {
				task.Vault = new(form.Vaults[len(form.Vaults)-1].Vault)
				a.copy(outer.Attr("vault"), path.Attr("vault"))
			}
			if task.Vault == nil && f.job.Vault != nil {
				task.Vault = new(*f.job.Vault)
				a.copy(Root.Attr("vault"), path.Attr("vault"))
			}
			own := task.Secrets
			for n, secret := range form.Secrets {
				addSecret(task, own, &secret.Secret, outer.Index("secret", n), path, a)
			}
			own = task.Secrets
			for n, secret := range f.job.Secrets {
				addSecret(task, own, secret, Root.Index("secret", n), path, a)
			}
		}
	}
}

// addSecret gives a task an outer secret, unless one of its own has the name.
func addSecret(task *api.Task, own []*api.Secret, secret *api.Secret, from, path Path, a *atlas) {
	if slices.ContainsFunc(own, func(s *api.Secret) bool { return s.Name == secret.Name }) {
		return
	}
	a.copy(from, path.Index("secret", len(task.Secrets)))
	task.Secrets = append(task.Secrets, new(*secret))
}
