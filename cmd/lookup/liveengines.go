package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"taskrun/cmd/client"
	"taskrun/cmd/source"
	"taskrun/drivers/process"
	"taskrun/engine/httpapi"
)

// engines returns the engines of a data directory or, if that is empty, all of this
// user. It leaves out those suspended with Ctrl-Z, which would not answer, and those
// that do not answer; if there are no others, that is an error.
func (f *Finder) engines(ctx context.Context, dataDir string) ([]client.Engine, error) {
	dir, err := f.Sockets()
	if err != nil {
		return nil, err
	}
	servers, err := source.Servers(ctx, dir)
	if err != nil {
		return nil, err
	}
	var failures []error
	servers = slices.DeleteFunc(servers, func(s *client.Server) bool {
		pid := httpapi.PID(s.Socket)
		if !process.Suspended(pid) {
			return false
		}
		failures = append(failures, fmt.Errorf("process %d, an engine, is suspended: continue it with fg in its shell, or with: kill -CONT %d", pid, pid))
		return true
	})
	live, silent := client.Engines(ctx, servers)
	failures = append(failures, silent...)
	if dataDir != "" {
		if dataDir, err = f.DataDir(dataDir); err != nil {
			return nil, err
		}
		live = slices.DeleteFunc(live, func(e client.Engine) bool { return !e.Self.In(dataDir) })
	}
	if len(live) == 0 {
		return nil, errors.Join(failures...)
	}
	f.warnOnce(failures)
	return live, nil
}

// warnOnce warns of errors that the user does not know of yet.
func (f *Finder) warnOnce(failures []error) {
	for _, err := range failures {
		if _, told := f.warned.LoadOrStore(err.Error(), true); !told {
			f.Warn(err)
		}
	}
}

// LocalServers returns the servers of engines.
func (f *Finder) LocalServers(ctx context.Context, dataDir string) (servers []*client.Server, err error) {
	live, err := f.engines(ctx, dataDir)
	for _, e := range live {
		servers = append(servers, e.Server)
	}
	return servers, err
}

// FindAgent returns the agent of a data directory, or nil.
func (f *Finder) FindAgent(ctx context.Context, dataDir string) (*client.Engine, error) {
	live, err := f.engines(ctx, dataDir)
	if i := slices.IndexFunc(live, func(e client.Engine) bool { return e.Self.Agent }); i >= 0 {
		return &live[i], nil
	}
	return nil, err
}

// LiveRuns returns the runs of engines.
func (f *Finder) LiveRuns(ctx context.Context, dataDir string) (runs []*source.Directory, err error) {
	live, err := f.engines(ctx, dataDir)
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, e := range live {
		d := source.NewDirectory(e.Server, e.Self)
		if e.Self.Agent {
			jobs, errs := client.ListJobs(ctx, []*client.Server{e.Server})
			failures = append(failures, errs...)
			ended := map[string]bool{}
			for _, j := range jobs {
				if j.Status == "dead" {
					ended[j.Key()] = true
				}
			}
			d.Living(ended)
		}
		runs = append(runs, d)
	}
	f.warnOnce(failures)
	return runs, nil
}
