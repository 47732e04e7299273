package cmd

import "github.com/hashicorp/nomad/api"

// neverRestart takes the restarts and the rescheduling out of canonical jobs:
// the first failure of a task is the end of its allocation.
func neverRestart(jobs []*api.Job) {
	for _, j := range jobs {
		for _, g := range j.TaskGroups {
			policies := []*api.RestartPolicy{g.RestartPolicy}
			for _, t := range g.Tasks {
				policies = append(policies, t.RestartPolicy)
			}
			for _, p := range policies {
				p.Attempts, p.Mode = new(0), new(api.RestartPolicyModeFail)
			}
			if p := g.ReschedulePolicy; p != nil { // system jobs have none
				p.Attempts, p.Unlimited = new(0), new(false)
			}
		}
	}
}
