package lookup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/pflag"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// TargetHelp explains targets in the help of commands.
const TargetHelp = `TARGET is [JOB/][GROUP[INDEX]/]TASK or any unambiguous part of it, or a prefix
of an allocation ID, as ID or ID/TASK. Targets are tasks of all runs of this
user, with --data-dir those of one data directory, with --address those of a
Nomad cluster. NOMAD_* variables are ignored.`

// Connection says where to look for tasks: in the runs of this user, in those of a
// data directory or, with an address, in a Nomad cluster. Its flags have Nomad's names.
type Connection struct {
	Cluster client.Cluster
	DataDir string // of the runs; empty: those of all
	Job     string
	Flags   *pflag.FlagSet
}

// ClusterFlags have no effect without --address. The config file may set them
// all the same.
var ClusterFlags = []string{
	"token", "http-auth", "region", "namespace", "ca-cert", "ca-path", "client-cert", "client-key", "tls-server-name", "tls-skip-verify",
}

// Bind adds the flags of commands that look for tasks.
func (c *Connection) Bind(flags *pflag.FlagSet) {
	flags.StringVar(&c.Job, "job", "", "only tasks of this `job`")
	c.BindRuns(flags)
}

// BindRuns adds the flags that select runs of this user or a cluster.
func (c *Connection) BindRuns(flags *pflag.FlagSet) {
	c.BindCluster(flags)
	flags.StringVar(&c.DataDir, "data-dir", "", "only runs of this data `directory` (default: all of this user)")
}

// BindCluster adds the flags that select a cluster.
func (c *Connection) BindCluster(flags *pflag.FlagSet) {
	c.Flags = flags
	flags.StringVar(&c.Cluster.Address, "address", "", "`URL` of a Nomad cluster, instead of the runs of this user")
	flags.StringVar(&c.Cluster.Token, "token", "", "ACL `token` for the cluster; TASKRUN_TOKEN keeps it off the command line")
	flags.StringVar(&c.Cluster.HTTPAuth, "http-auth", "", "`user:password` for a proxy in front of the cluster; TASKRUN_HTTP_AUTH keeps it off the command line")
	flags.StringVar(&c.Cluster.Region, "region", "", "`region` of the cluster")
	flags.StringVar(&c.Cluster.Namespace, "namespace", "", "`namespace` of the cluster (default: default)")
	flags.StringVar(&c.Cluster.TLS.CACert, "ca-cert", "", "PEM `file` with the CA certificate of the cluster")
	flags.StringVar(&c.Cluster.TLS.CAPath, "ca-path", "", "`directory` with PEM files of CA certificates")
	flags.StringVar(&c.Cluster.TLS.ClientCert, "client-cert", "", "PEM `file` with this client's certificate")
	flags.StringVar(&c.Cluster.TLS.ClientKey, "client-key", "", "PEM `file` with this client's key")
	flags.StringVar(&c.Cluster.TLS.TLSServerName, "tls-server-name", "", "`name` to expect in the cluster's certificate")
	flags.BoolVar(&c.Cluster.TLS.Insecure, "tls-skip-verify", false, "do not verify the cluster's certificate")
}

// Remote reports whether the user means a cluster. On the command line, it
// refuses cluster flags without an address and, with one, the flags in local.
// The environment and the config file may set either: they serve other
// commands, too.
func (c *Connection) Remote(local ...string) (bool, error) {
	if c.Cluster.Address == "" {
		if i := slices.IndexFunc(ClusterFlags, c.Flags.Changed); i >= 0 {
			return false, exit.Usage("cannot use --%s: it requires --address", ClusterFlags[i])
		}
		return false, nil
	}
	local = append(local, "data-dir")
	if i := slices.IndexFunc(local, c.Flags.Changed); i >= 0 {
		err := exit.Usage("cannot use --%s in a cluster: it is for runs on this machine", local[i])
		if !c.Flags.Changed("address") {
			return true, err.WithHint("the address comes from the environment or the config file; --address= leaves it out")
		}
		return true, err
	}
	return true, nil
}

// Words returns the given flags with which another command finds the same
// cluster. It never returns a secret.
func (c *Connection) Words() string {
	text := ""
	for _, name := range append([]string{"address"}, ClusterFlags...) {
		value := c.Flags.Lookup(name).Value.String()
		switch {
		case !c.Flags.Changed(name), name == "token", name == "http-auth":
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

// WordsFor returns the flags with which another command finds a job of the cluster,
// whose file may name the region and the namespace.
func (c *Connection) WordsFor(j *api.Job) string {
	text := c.Words()
	at := c.Cluster
	for _, own := range settingsOf(j, &at) {
		if own.value != own.usual && !c.Flags.Changed(own.flag) {
			text += fmt.Sprintf(" --%s=%s", own.flag, own.value)
		}
	}
	return text
}

// ownSetting is a flag whose value a job file may have.
type ownSetting struct {
	flag, value, usual string
	to                 *string
}

func settingsOf(j *api.Job, at *client.Cluster) []ownSetting {
	return []ownSetting{
		{"namespace", *j.Namespace, api.DefaultNamespace, &at.Namespace},
		{"region", *j.Region, api.GlobalRegion, &at.Region},
	}
}

// ServerOf returns the cluster, with the region and the namespace of a job.
func (c *Connection) ServerOf(j *api.Job) (*client.Server, error) {
	at := c.Cluster
	for _, own := range settingsOf(j, &at) {
		switch {
		case own.value == own.usual:
		case c.Flags.Changed(own.flag) && *own.to != own.value:
			return nil, exit.Usage("job %q is for %s %q, and --%s says %q", *j.ID, own.flag, own.value, own.flag, *own.to)
		default:
			*own.to = own.value
		}
	}
	if at.Namespace == api.AllNamespacesNamespace {
		return nil, exit.Usage("job %q can be in one namespace, not in all", *j.ID).WithHint("name it with --namespace")
	}
	s, err := client.Remote(at)
	if err != nil {
		return nil, exit.Usage("%w", err)
	}
	return s, nil
}

// Servers returns the selected runs of this user, or the cluster.
func (f *Finder) Servers(ctx context.Context, c Connection) ([]*client.Server, error) {
	remote, err := c.Remote()
	switch {
	case err != nil:
		return nil, err
	case !remote:
		return f.LocalServers(ctx, c.DataDir)
	}
	s, err := client.Remote(c.Cluster)
	if err != nil {
		return nil, exit.Usage("%w", err)
	}
	return []*client.Server{s}, nil
}

// NoRun returns the error of a command that finds no running job.
func NoRun(code int, dataDir string) error {
	return (&exit.Error{Code: code, Err: errors.New("no job runs " + PlaceOf(dataDir))}).WithHint("start one with: taskrun up FILE")
}

// PlaceOf says where a command looks for runs.
func PlaceOf(dataDir string) string {
	if dataDir == "" {
		return "here"
	}
	return fmt.Sprintf("in data directory %q", dataDir)
}

// Tasks returns the servers of a connection and their tasks, limited to one job
// if the connection names it. If only some servers answer, it warns about
// the others.
func (f *Finder) Tasks(ctx context.Context, c Connection) ([]*client.Server, []*client.Task, error) {
	servers, err := f.Servers(ctx, c)
	if err != nil || len(servers) == 0 {
		return nil, nil, err
	}
	tasks, failures := client.List(ctx, servers, c.Job)
	return servers, tasks, f.tolerate(servers, failures)
}

// Jobs returns the jobs of all servers. If only some servers answer, it warns
// about the others.
func (f *Finder) Jobs(ctx context.Context, servers []*client.Server) ([]client.Job, error) {
	jobs, failures := client.ListJobs(ctx, servers)
	return jobs, f.tolerate(servers, failures)
}

// tolerate warns about servers that failed. If all of them failed, it returns
// an error.
func (f *Finder) tolerate(servers []*client.Server, failures []error) error {
	if len(failures) > 0 && len(failures) == len(servers) {
		return failures[0]
	}
	for _, err := range failures {
		f.Warn(err)
	}
	return nil
}

// TargetError adds a hint to the error of a target that cannot be used.
func TargetError(err error, tasks []*client.Task, code int) error {
	e := &exit.Error{Code: code, Err: err}
	unknown, ok := errors.AsType[*client.UnknownError](err)
	running := client.Running(tasks)
	switch {
	case !ok:
		return err
	case unknown.Near != "":
		return e.WithHint("did you mean %q?", unknown.Near)
	case running != "":
		return e.WithHint("running tasks: %s", running)
	}
	return e.WithHint("see: taskrun ps")
}

// RunningJob returns the running job with a name.
func (f *Finder) RunningJob(ctx context.Context, c Connection, name string) (*client.Job, error) {
	running, err := f.runningJobs(ctx, c)
	if err != nil {
		return nil, err
	}
	return FindJob(running, name)
}

// RunningVersion returns the running job of which a job is another version.
func (f *Finder) RunningVersion(ctx context.Context, c Connection, of *api.Job) (*client.Job, error) {
	running, err := f.runningJobs(ctx, c)
	if err != nil {
		return nil, err
	}
	return OneJob(running, event.JobName(event.JobKey(*of.Namespace, *of.ID)), func(j *client.Job) bool { return j.Is(of) })
}

func (f *Finder) runningJobs(ctx context.Context, c Connection) ([]client.Job, error) {
	servers, err := f.Servers(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(servers) == 0 {
		return nil, NoRun(verdict.Failed, c.DataDir)
	}
	return f.Jobs(ctx, servers)
}

// JobNames returns the names of jobs for users, given their keys.
func JobNames(keys []string) (names []string) {
	for _, key := range keys {
		names = append(names, event.JobName(key))
	}
	return names
}

// FindJob returns the one job with a name or, if no job has it, with this ID.
func FindJob(jobs []client.Job, name string) (*client.Job, error) {
	wanted := func(j *client.Job) bool { return j.Name() == name }
	if !slices.ContainsFunc(jobs, func(j client.Job) bool { return wanted(&j) }) {
		wanted = func(j *client.Job) bool { return j.ID == name }
	}
	return OneJob(jobs, name, wanted)
}

// OneJob returns the one job that is wanted.
func OneJob(jobs []client.Job, name string, wanted func(*client.Job) bool) (*client.Job, error) {
	var names []string
	var found []*client.Job
	for i := range jobs {
		names = append(names, jobs[i].Name())
		if wanted(&jobs[i]) {
			found = append(found, &jobs[i])
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1 && found[0].Name() != found[1].Name():
		return nil, exit.Failed("job %q is ambiguous", name).WithHint("jobs are: %s", strings.Join(names, ", "))
	case len(found) > 1:
		return nil, exit.Failed("job %q runs %d times: %v and %v", name, len(found), found[0].Server, found[1].Server)
	case len(jobs) == 0:
		return nil, NoRun(verdict.Failed, "")
	}
	return nil, exit.Failed("no job is called %q", name).WithHint("jobs are: %s", strings.Join(names, ", "))
}

// AsFailed returns the error of a target that cannot be used, with exit code 1.
func AsFailed(err error) error {
	if _, unknown := errors.AsType[*client.UnknownError](err); unknown {
		return err
	}
	return exit.Failed("%w", err)
}
