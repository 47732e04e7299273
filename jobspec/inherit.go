package jobspec

import (
	"slices"

	"github.com/hashicorp/nomad/api"
)

// inherit copies the vault and secret blocks of the group and the job to the
// tasks. A task's own vault block replaces the outer ones completely. Secrets
// are combined, one for each name; those of the task come first.
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

// addSecret adds an outer secret to a task, unless the task has one with that
// name.
func addSecret(task *api.Task, own []*api.Secret, secret *api.Secret, from, path Path, a *atlas) {
	if slices.ContainsFunc(own, func(s *api.Secret) bool { return s.Name == secret.Name }) {
		return
	}
	a.copy(from, path.Index("secret", len(task.Secrets)))
	task.Secrets = append(task.Secrets, new(*secret))
}
