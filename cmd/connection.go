package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"taskrun/cmd/client"
	"taskrun/cmd/source"
)

// targetHelp explains targets in the help of commands.
const targetHelp = `TARGET is [JOB/][GROUP[INDEX]/]TASK or any unambiguous part of it, or a prefix
of an allocation ID, as ID or ID/TASK. Targets are tasks of all runs of this
user; with --address tasks of a Nomad cluster. NOMAD_* variables are ignored.`

// connection says where tasks are looked for: in the runs of this user or, with
// an address, in a Nomad cluster. Its flags are called as Nomad's.
type connection struct {
	cluster client.Cluster
	job     string
	flags   *pflag.FlagSet
}

// clusterFlags mean nothing without --address. In the config file they may
// stand all the same.
var clusterFlags = []string{
	"token", "http-auth", "region", "namespace", "ca-cert", "ca-path", "client-cert", "client-key", "tls-server-name", "tls-skip-verify",
}

// bind adds the flags of commands that look for tasks.
func (c *connection) bind(flags *pflag.FlagSet) {
	flags.StringVar(&c.job, "job", "", "only tasks of this `job`")
	c.bindCluster(flags)
}

// bindCluster adds those that say where.
func (c *connection) bindCluster(flags *pflag.FlagSet) {
	c.flags = flags
	flags.StringVar(&c.cluster.Address, "address", "", "`URL` of a Nomad cluster, instead of the runs of this user")
	flags.StringVar(&c.cluster.Token, "token", "", "ACL `token` for the cluster; TASKRUN_TOKEN keeps it off the command line")
	flags.StringVar(&c.cluster.HTTPAuth, "http-auth", "", "`user:password` for a proxy in front of the cluster; TASKRUN_HTTP_AUTH keeps it off the command line")
	flags.StringVar(&c.cluster.Region, "region", "", "`region` of the cluster")
	flags.StringVar(&c.cluster.Namespace, "namespace", "", "`namespace` of the cluster (default: default)")
	flags.StringVar(&c.cluster.TLS.CACert, "ca-cert", "", "PEM `file` with the CA certificate of the cluster")
	flags.StringVar(&c.cluster.TLS.CAPath, "ca-path", "", "`directory` with PEM files of CA certificates")
	flags.StringVar(&c.cluster.TLS.ClientCert, "client-cert", "", "PEM `file` with this client's certificate")
	flags.StringVar(&c.cluster.TLS.ClientKey, "client-key", "", "PEM `file` with this client's key")
	flags.StringVar(&c.cluster.TLS.TLSServerName, "tls-server-name", "", "`name` to expect in the cluster's certificate")
	flags.BoolVar(&c.cluster.TLS.Insecure, "tls-skip-verify", false, "do not verify the cluster's certificate")
}

// remote reports whether a cluster is meant, and refuses what is for the other
// case: flags of a cluster without an address or, with one, those in local. What
// the environment and the config file say may be for other commands.
func (c *connection) remote(local ...string) (bool, error) {
	if c.cluster.Address == "" {
		if i := slices.IndexFunc(clusterFlags, c.flags.Changed); i >= 0 {
			return false, usageError("cannot use --%s: it is for a cluster, and there is no --address", clusterFlags[i])
		}
		return false, nil
	}
	local = append(local, "data-dir")
	if i := slices.IndexFunc(local, c.flags.Changed); i >= 0 {
		err := usageError("cannot use --%s in a cluster: it is for runs on this machine", local[i])
		if !c.flags.Changed("address") {
			return true, err.withHint("the address comes from the environment or the config file; --address= leaves it out")
		}
		return true, err
	}
	return true, nil
}

// words are the flags by which another command finds the same cluster, as far
// as they were given; never a secret.
func (c *connection) words() string {
	text := ""
	for _, name := range append([]string{"address"}, clusterFlags...) {
		value := c.flags.Lookup(name).Value.String()
		switch {
		case !c.flags.Changed(name), name == "token", name == "http-auth":
			continue
		case name == "address":
			if at, err := url.Parse(value); err == nil && at.User != nil {
				at.User = nil
				value = at.String()
			}
		}
		text += fmt.Sprintf(" --%s=%s", name, value)
	}
	return text
}

// servers returns the runs of this user, or the cluster.
func (a *app) servers(ctx context.Context, c connection) ([]*client.Server, error) {
	remote, err := c.remote()
	switch {
	case err != nil:
		return nil, err
	case !remote:
		return a.localServers(ctx)
	}
	s, err := client.Remote(c.cluster)
	if err != nil {
		return nil, usageError("%w", err)
	}
	return []*client.Server{s}, nil
}

// localServers returns the runs of this user.
func (a *app) localServers(ctx context.Context) ([]*client.Server, error) {
	dir, err := a.sockets()
	if err != nil {
		return nil, err
	}
	return source.Servers(ctx, dir)
}

// noRun says that there is nothing to look for a task in.
func noRun(code int) error {
	return (&exitError{code: code, err: errors.New("no job runs here")}).withHint("start one with: taskrun up FILE")
}

// tasks returns the tasks of all servers. What some of them do not tell is a
// warning, as long as another answers.
func (a *app) tasks(ctx context.Context, servers []*client.Server, job string) ([]*client.Task, error) {
	tasks, errs := client.List(ctx, servers, job)
	return tasks, a.bearable(servers, errs)
}

// jobs returns the jobs of all servers, likewise.
func (a *app) jobs(ctx context.Context, servers []*client.Server) ([]client.Job, error) {
	jobs, errs := client.ListJobs(ctx, servers)
	return jobs, a.bearable(servers, errs)
}

// bearable warns of the errors of some servers; if all failed, it returns one.
func (a *app) bearable(servers []*client.Server, errs []error) error {
	if len(errs) > 0 && len(errs) == len(servers) {
		return errs[0]
	}
	for _, p := range errs {
		a.warn(p)
	}
	return nil
}

// targetError adds what to do about a target that cannot be used.
func targetError(err error, tasks []*client.Task, code int) error {
	e := &exitError{code: code, err: err}
	var unknown *client.UnknownError
	running := client.Running(tasks)
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &unknown):
		return err
	case unknown.Near != "":
		return e.withHint("did you mean %q?", unknown.Near)
	case running != "":
		return e.withHint("running are: %s", running)
	}
	return e.withHint("see: taskrun ps")
}

// findJob returns the one job of an ID.
func findJob(jobs []client.Job, id string) (*client.Job, error) {
	found := slices.DeleteFunc(slices.Clone(jobs), func(j client.Job) bool { return j.ID != id })
	switch {
	case len(found) == 1:
		return &found[0], nil
	case len(found) > 1:
		return nil, &exitError{code: exitFailed, err: fmt.Errorf("job %q runs %d times: %v and %v", id, len(found), found[0].Server, found[1].Server)}
	case len(jobs) == 0:
		return nil, noRun(exitFailed)
	}
	var ids []string
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return nil, (&exitError{code: exitFailed, err: fmt.Errorf("no job is called %q", id)}).withHint("jobs are: %s", strings.Join(ids, ", "))
}
