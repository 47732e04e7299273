package cmd

import (
	"context"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
)

// clusterJob is a job and the cluster that runs it, or will run it.
type clusterJob struct {
	job    *api.Job
	source *api.JobSubmission // its job file; nil: not known
	server *client.Server
	before *api.Job // the cluster's version; nil: the job is new
}

// findClusterJob returns a job of a cluster. The ID must not be empty.
func findClusterJob(ctx context.Context, a *app, c lookup.Connection, id string) (clusterJob, error) {
	if id == "" {
		return clusterJob{}, exit.Usage("a job name is required with --address").WithHint("see: taskrun ps%s", c.Words())
	}
	servers, err := a.runs.Servers(ctx, c)
	if err != nil {
		return clusterJob{}, err
	}
	s := servers[0]
	if s.Namespace() == api.AllNamespacesNamespace {
		return clusterJob{}, exit.Usage("job %q can be in one namespace, not in all", id).WithHint("name it with --namespace")
	}
	j, _, err := s.Info(ctx, id, 0)
	switch {
	case client.Missing(err):
		return clusterJob{}, exit.Failed("no job is called %q in %v", id, s).WithHint("see: taskrun ps%s --all", c.Words())
	case err != nil:
		return clusterJob{}, err
	}
	j.Canonicalize()
	return clusterJob{job: j, server: s, before: j}, nil
}

// silentRun returns the run of the job, without output.
func (j clusterJob) silentRun() *cluster.Run {
	run := cluster.New([]cluster.Job{{Job: j.job, Server: j.server}})
	run.Silent = true
	return run
}

// runs reports whether the cluster runs the job.
func (j clusterJob) runs() bool {
	b := j.before
	return b != nil && (b.Stop == nil || !*b.Stop) && b.Status != nil && *b.Status != "dead"
}

// followed returns the job for package cluster, without the allocations that
// ended earlier.
func (j clusterJob) followed(ctx context.Context) (cluster.Job, error) {
	f := cluster.Job{Job: j.job, Server: j.server, Over: map[string]bool{}}
	if j.before == nil {
		return f, nil
	}
	return f, f.LeaveOutEnded(ctx)
}

// register registers the job, unless someone else has changed it since it was
// looked up. It returns the evaluation and the cluster's warnings.
func (j clusterJob) register(ctx context.Context) (evaluation string, warnings []string, err error) {
	index := uint64(0)
	if j.before != nil {
		index = *j.before.JobModifyIndex
	}
	answer, err := j.server.RegisterAt(ctx, j.job, j.source, index)
	if err != nil {
		return "", nil, err
	}
	for line := range strings.Lines(answer.Warnings) { // a heading, then items with stars
		item, starred := strings.CutPrefix(strings.TrimSpace(line), "* ")
		if item != "" && (starred || !strings.HasSuffix(item, ":")) {
			warnings = append(warnings, item)
		}
	}
	return answer.EvalID, warnings, nil
}
