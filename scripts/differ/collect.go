package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/recording"
)

// maxOutput is how much of a task's output is compared, in bytes.
const maxOutput = 1 << 20

// deployments describes the deployments of a job, oldest first.
func deployments(ctx context.Context, client *api.Client, job string) (got []recording.Deployment, err error) {
	list, _, err := client.Jobs().Deployments(job, true, query(ctx))
	slices.SortFunc(list, func(a, b *api.Deployment) int { return int(a.CreateIndex) - int(b.CreateIndex) })
	for _, d := range list {
		groups := map[string]recording.DeploymentGroup{}
		for name, g := range d.TaskGroups {
			groups[name] = recording.DeploymentGroup{
				Desired: g.DesiredTotal, Canaries: g.DesiredCanaries, Placed: g.PlacedAllocs,
				Healthy: g.HealthyAllocs, Unhealthy: g.UnhealthyAllocs, Promoted: g.Promoted, AutoRevert: g.AutoRevert,
			}
		}
		got = append(got, recording.Deployment{Status: d.Status, Description: d.StatusDescription, Version: d.JobVersion, Groups: groups})
	}
	return got, err
}

// alloc describes an allocation; first is the time when the first one was
// created.
func (s *side) alloc(ctx context.Context, stub *api.AllocationListStub, first int64) (recording.Alloc, error) {
	info, _, err := s.client.Allocations().Info(stub.ID, query(ctx))
	if err != nil {
		return recording.Alloc{}, err
	}
	a := recording.Alloc{
		Name: child.ReplaceAllString(stub.Name, "$1-N"), Status: stub.ClientStatus, Description: stub.ClientDescription, Desired: &stub.DesiredStatus,
		Previous: info.PreviousAllocation != "", Version: &stub.JobVersion, Created: time.Duration(stub.CreateTime - first).Seconds(),
		Tasks: map[string]recording.Task{},
	}
	if d := stub.DeploymentStatus; d != nil {
		a.Healthy = d.Healthy
	}
	for name, state := range stub.TaskStates {
		task := recording.Task{State: state.State, Failed: state.Failed, Restarts: int(state.Restarts)}
		for _, e := range state.Events {
			task.Events = append(task.Events, recording.Event{
				At: time.Duration(e.Time - stub.CreateTime).Seconds(), Type: e.Type, Message: e.DisplayMessage, Details: e.Details,
			})
		}
		task.Stdout, task.Stderr = s.read(info, "alloc/logs/"+name+".stdout.0"), s.read(info, "alloc/logs/"+name+".stderr.0")
		a.Tasks[name] = task
	}
	if trace := s.read(info, "alloc/data/trace"); trace != "" {
		a.Trace = &trace
	}
	if s.dirs == nil {
		return a, nil
	}
	found, err := filepath.Glob(s.dirs(stub.ID))
	if err != nil || len(found) != 1 {
		return a, err
	}
	a.Files, err = files(found[0])
	return a, err
}

// read returns a file of an allocation, or "".
func (s *side) read(alloc *api.Allocation, path string) string {
	f, err := s.client.AllocFS().Cat(alloc, path, nil)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxOutput))
	if err != nil || strings.HasSuffix(string(text), ": no such file or directory") { // Nomad's status is 200
		return ""
	}
	return string(text)
}

// files lists the files in the directory of an allocation. Files that disappear
// are omitted.
func files(dir string) (list []recording.File, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || path == "." {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		sys := info.Sys().(*syscall.Stat_t)
		list = append(list, recording.File{
			Path: path, Mode: recording.Mode(info.Mode()), UID: int(sys.Uid), GID: int(sys.Gid), Size: info.Size(),
		})
		return nil
	})
	return list, err
}

// child matches the end of the IDs of children of periodic and parameterized
// jobs.
var child = regexp.MustCompile(`\b(periodic|dispatch)-[0-9]+(-[0-9a-f]+)?`)
