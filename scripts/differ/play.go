package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/recording"
)

// play runs a job with its actions, and returns a recording.
func (s *side) play(ctx context.Context, name, dir string, actions []action, settle time.Duration) (got recording.Recording, err error) {
	if s, err = s.in(ctx, filepath.Join(dir, name+".nomad.hcl")); err != nil {
		return got, err
	}
	p := &player{side: s, name: name, dir: dir, got: &got}
	local := s.register == nil
	for _, a := range actions {
		if a.Seconds < 0 && !local {
			p.prepare(ctx, a.What)
		}
	}
	if local {
		got.Registered, err = p.warnings(ctx)
	} else {
		got.Registered = s.register(ctx, s, dir, name)
	}
	if err != nil {
		return got, err
	}
	if _, _, err := s.client.Jobs().Info(name, query(ctx)); err != nil {
		return got, nil //nolint:nilerr // it was refused, which is recorded
	}
	defer func() {
		_, _, stopped := s.client.Jobs().Deregister(name, true, nil)
		err = errors.Join(err, stopped)
	}()
	for _, a := range actions {
		if a.Seconds < 0 {
			continue
		}
		select {
		case <-time.After(time.Duration(a.Seconds * float64(time.Second))):
		case <-ctx.Done():
			return got, ctx.Err()
		}
		if err := p.act(ctx, a.What); err != nil {
			return got, fmt.Errorf("%s: %w", a.What, err)
		}
	}
	return got, p.end(ctx, settle)
}

// player plays one job on one side.
type player struct {
	*side
	name, dir string
	got       *recording.Recording
}

// prepare runs a shell command that creates what the job needs from Nomad.
func (p *player) prepare(ctx context.Context, line string) {
	if _, rest, ok := strings.Cut(line, "@BIN@/nomad "); ok {
		line = rest
	}
	p.command(ctx, p.dir, strings.TrimPrefix(line, "cli "))
}

// warnings returns the warnings of the CLI when the job is registered.
func (p *player) warnings(ctx context.Context) (string, error) {
	text, err := os.ReadFile(filepath.Join(p.dir, p.name+".nomad.hcl"))
	if err != nil {
		return "", err
	}
	job, err := p.client.Jobs().ParseHCLOpts(&api.JobsParseRequest{JobHCL: string(text), Canonicalize: true})
	if err != nil {
		return err.Error(), nil //nolint:nilerr // it is recorded
	}
	answer, _, err := p.client.Jobs().Validate(job, (&api.WriteOptions{}).WithContext(ctx))
	if err != nil {
		return err.Error(), nil //nolint:nilerr // it is recorded
	}
	said, evaluated := "", "Evaluation ID: ALLOC\n"
	if job.IsPeriodic() || job.IsParameterized() {
		evaluated = ""
	}
	if answer.Warnings != "" {
		said = "Job Warnings:\n" + answer.Warnings + "\n\n"
	}
	return said + "Job registration successful\n" + evaluated, nil
}

func (p *player) act(ctx context.Context, line string) error {
	switch what, rest, _ := strings.Cut(line, " "); what {
	case "stop":
		_, _, err := p.client.Jobs().Deregister(p.name, false, nil)
		return err
	case "deploy":
		list, err := deployments(ctx, p.client, p.name)
		p.got.Deployments = append(p.got.Deployments, list)
		return err
	case "allocs":
		list, err := p.allocs(ctx)
		var seen []recording.AllocLine
		for _, a := range list {
			seen = append(seen, recording.AllocLine{Name: child.ReplaceAllString(a.Name, "$1-N"), Status: a.ClientStatus, Desired: a.DesiredStatus, Version: a.JobVersion})
		}
		p.got.AllocLists = append(p.got.AllocLists, seen)
		return err
	case "cli", "api":
		alloc, err := p.running(ctx)
		if err != nil {
			return err
		}
		rest = strings.ReplaceAll(rest, "$ALLOC", alloc)
		c := recording.Command{}
		if what == "api" {
			c = p.get(ctx, rest)
		} else {
			c = p.command(ctx, p.dir, rest)
		}
		c.Line = strings.TrimPrefix(line, "cli ")
		p.got.Commands = append(p.got.Commands, c)
		return nil
	default:
		return errors.New("unknown action")
	}
}

// allocs returns the allocations of the job and of its children, oldest first.
func (p *player) allocs(ctx context.Context) ([]*api.AllocationListStub, error) {
	list, _, err := p.client.Jobs().Allocations(p.name, true, query(ctx))
	if err != nil {
		return nil, err
	}
	q := query(ctx)
	q.Prefix = p.name + "/"
	children, _, err := p.client.Jobs().List(q)
	for _, j := range children {
		more, _, failed := p.client.Jobs().Allocations(j.ID, true, query(ctx))
		list, err = append(list, more...), errors.Join(err, failed)
	}
	slices.SortStableFunc(list, func(a, b *api.AllocationListStub) int { return int(a.CreateTime - b.CreateTime) })
	return list, err
}

// running returns the running allocation, or the newest.
func (p *player) running(ctx context.Context) (id string, err error) {
	list, err := p.allocs(ctx)
	for _, a := range list {
		id = a.ID
		if a.ClientStatus == api.AllocClientStatusRunning {
			break
		}
	}
	return id, err
}

// end waits until the job is dead, or nothing has happened for a while, and
// records the result. It stops a job that is still running.
func (p *player) end(ctx context.Context, settle time.Duration) error {
	status, err := p.wait(ctx, settle)
	if err != nil {
		return err
	}
	p.got.JobStatus = status
	if status != "dead" {
		if _, _, err := p.client.Jobs().Deregister(p.name, false, nil); err != nil {
			return err
		}
		if _, err := p.wait(ctx, settle); err != nil {
			return err
		}
	}
	list, err := p.allocs(ctx)
	for _, stub := range list {
		a, failed := p.alloc(ctx, stub, list[0].CreateTime)
		err = errors.Join(err, failed)
		p.got.Allocs = append(p.got.Allocs, a)
	}
	return err
}

// wait returns the status of the job once it is dead, or nothing has happened
// to its allocations for a while.
func (p *player) wait(ctx context.Context, settle time.Duration) (status string, err error) {
	q := query(ctx)
	for {
		job, _, err := p.client.Jobs().Info(p.name, query(ctx))
		if err != nil {
			return "", err
		}
		status = *job.Status
		list, err := p.allocs(ctx)
		if err != nil {
			return "", err
		}
		q.WaitTime = settle
		if status == "dead" && !slices.ContainsFunc(list, lives) {
			q.WaitTime = time.Second // what is still reported
		}
		began := time.Now()
		_, meta, err := p.client.Jobs().Allocations(p.name, true, q)
		if err != nil {
			return "", err
		}
		if meta.LastIndex == q.WaitIndex && time.Since(began) >= q.WaitTime {
			return status, nil
		}
		q.WaitIndex = meta.LastIndex
	}
}

// lives reports whether an allocation may still change: one with a failed task
// counts as failed while its other tasks are being stopped.
func lives(a *api.AllocationListStub) bool {
	for _, t := range a.TaskStates {
		if t.State != "dead" {
			return true
		}
	}
	return a.ClientStatus == api.AllocClientStatusPending || a.ClientStatus == api.AllocClientStatusRunning
}
