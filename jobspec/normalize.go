package jobspec

import (
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/diagnostic"
)

// normalize converts a decoded job to the form that Nomad's parser returns.
// Unlike Job.Canonicalize it adds hardly any defaults.
func normalize(label string, f *forms, a *atlas) hcl.Diagnostics {
	var diags hcl.Diagnostics
	job := f.job.Job
	if job.Name == nil {
		job.Name = &label
	}
	if job.ID == nil {
		job.ID = &label
	}
	if p := job.Periodic; p != nil && (p.Spec != nil || p.Specs != nil) {
		p.SpecType = new(api.PeriodicSpecCron)
	}
	groups := make([]*api.TaskGroup, 0, len(f.job.Tasks)+len(job.TaskGroups))
	for _, task := range f.job.Tasks {
		groups = append(groups, &api.TaskGroup{Name: new(task.Name), Tasks: []*api.Task{task}})
	}
	if groups = append(groups, job.TaskGroups...); len(groups) > 0 {
		job.TaskGroups = groups
	}
	inherit(f, a)

	for i, group := range job.TaskGroups {
		splitPorts(group.Networks)
		for j, task := range group.Tasks {
			if task.Resources != nil {
				splitPorts(task.Resources.Networks)
			}
			fillTemplates(task.Templates)
			fillVault(task.Vault)
			path := Root.Index("group", i).Index("task", j)
			diags = append(diags, takeIdentity(task, path, a)...)
		}
	}
	return diags
}

// splitPorts splits the port blocks into static and dynamic ones. As in Nomad,
// blocks of the type reserved_ports only count if there is no port block.
func splitPorts(networks []*api.NetworkResource) {
	for _, network := range networks {
		if len(network.DynamicPorts) == 0 {
			continue
		}
		ports := network.DynamicPorts
		network.DynamicPorts, network.ReservedPorts = nil, nil
		for _, port := range ports {
			if port.Value > 0 {
				network.ReservedPorts = append(network.ReservedPorts, port)
			} else {
				network.DynamicPorts = append(network.DynamicPorts, port)
			}
		}
	}
}

func fillTemplates(templates []*api.Template) {
	for _, t := range templates {
		setDefault(&t.ChangeMode, "restart")
		setDefault(&t.Perms, "0644")
		setDefault(&t.Splay, 5*time.Second)
		setDefault(&t.ErrMissingKey, false)
		if script := t.ChangeScript; script != nil {
			if script.Args == nil {
				script.Args = []string{}
			}
			setDefault(&script.Timeout, 5*time.Second)
			setDefault(&script.FailOnError, false)
			setDefault(&script.RunOnFirstRender, false)
		}
	}
}

func fillVault(v *api.Vault) {
	if v == nil {
		return
	}
	setDefault(&v.Env, true)
	setDefault(&v.DisableFile, false)
	setDefault(&v.ChangeMode, "restart")
}

// takeIdentity separates the default identity of a task from the others. If
// there are several, the last one wins, as in the conversion on Nomad's server.
func takeIdentity(task *api.Task, path Path, a *atlas) hcl.Diagnostics {
	var diags hcl.Diagnostics
	first := -1
	for i, identity := range task.Identities {
		if identity.Name != "" && identity.Name != "default" {
			continue
		}
		if first < 0 {
			first = i
			continue
		}
		at := a.positions[path.Index("identity", i)]
		diags = append(diags, diagnostic.Warning(at.hcl(), "this is a second default identity",
			"an identity without a name is the default one. The last of them counts", "give it a name, or delete one of them"))
	}
	if first < 0 {
		return diags
	}
	a.moveIdentities(path, first, len(task.Identities))
	task.Identity = task.Identities[first]
	task.Identities = append(task.Identities[:first:first], task.Identities[first+1:]...)
	return diags
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

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
