package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/prose"
	"taskrun/engine"
	"taskrun/jobspec/stub"
)

// Blocks does what the watch blocks of a run want when files have changed.
type Blocks struct {
	Engine *engine.Engine
	Builds *Builds
	Say    func(text string)
}

// Unit returns the work of a watch block. Changes below except do not count.
func (s *Blocks) Unit(b *stub.TaskWatch, except string) Unit {
	return Unit{
		Key:   fmt.Sprintf("%s %q %q %q %s %s", b.Target, b.Paths, b.Ignore, b.Build, b.Change, b.Signal),
		Trees: NewTrees(b.Dir, b.Paths, b.Ignore, except),
		Do:    func(ctx context.Context, changed string) { s.act(ctx, b, changed) },
	}
}

// Tasks returns the groups and tasks of a job that a watch block is for.
func Tasks(j *api.Job, b *stub.TaskWatch) (found [][2]string) {
	id := *j.ID
	if isChild(j) {
		id = *j.ParentID
	}
	for _, g := range j.TaskGroups {
		for _, t := range g.Tasks {
			if b.IsFor(id + "/" + *g.Name + "/" + t.Name) {
				found = append(found, [2]string{*g.Name, t.Name})
			}
		}
	}
	return found
}

func (s *Blocks) act(ctx context.Context, b *stub.TaskWatch, changed string) {
	if rel, ok := below(resolved(b.Dir), changed); ok {
		changed = rel
	}
	did := []string{changed + " has changed"}
	if len(b.Build) > 0 {
		began := time.Now()
		output, err := s.Builds.Build(ctx, b.Dir, b.Build)
		switch {
		case ctx.Err() != nil:
			return // there was another change, or the run stops
		case err != nil:
			text := fmt.Sprintf("%s: %s: the build has failed: %v; the task stays as it was", b.Target, did[0], err)
			s.Say(strings.TrimRight(text+"\n"+output, "\n"))
			return
		}
		did = append(did, "built in "+prose.Duration(time.Since(began)))
	}
	n, stopped, err := s.change(ctx, b)
	if ctx.Err() != nil {
		return
	}
	if b.Change != stub.ChangeNoop && (n > 0 || stopped == 0) {
		verb := map[stub.Change]string{stub.ChangeRestart: "restarted", stub.ChangeSignal: "sent " + b.Signal + " to"}[b.Change]
		did = append(did, verb+" "+prose.Count(n, "task"))
	}
	if stopped > 0 {
		did = append(did, "left "+prose.Count(stopped, "task")+" stopped")
	}
	if err != nil {
		did = append(did, err.Error())
	}
	s.Say(b.Target + ": " + strings.Join(did, ", "))
}

// change does to all tasks of a watch block what is wanted when their files have
// changed. It returns to how many, and how many it left alone because a user has
// stopped them.
func (s *Blocks) change(ctx context.Context, b *stub.TaskWatch) (n, stopped int, err error) {
	if b.Change == stub.ChangeNoop {
		return 0, 0, nil
	}
	allocs := s.Engine.Allocs()
	replaced := map[string]bool{}
	for _, alloc := range allocs {
		replaced[alloc.Replaces] = true
	}
	var mu sync.Mutex
	var changing sync.WaitGroup
	for _, alloc := range allocs {
		ended := alloc.Status == api.AllocClientStatusComplete || alloc.Status == api.AllocClientStatusFailed
		if alloc.Unwanted != "" || replaced[alloc.ID] || ended && isChild(alloc.Job) {
			continue
		}
		for _, at := range Tasks(alloc.Job, b) {
			if at[0] != alloc.Group {
				continue
			}
			if halted, _ := alloc.Halted(at[1]); halted {
				stopped++
				continue
			}
			changing.Go(func() {
				var failure error
				if b.Change == stub.ChangeSignal {
					failure = alloc.Signal(ctx, at[1], b.Signal)
				} else {
					failure = s.Engine.Renew(ctx, alloc.ID, at[1])
				}
				mu.Lock()
				defer mu.Unlock()
				if failure != nil {
					err = errors.Join(err, fmt.Errorf("%s/%s: %w", alloc.Name, at[1], failure))
				} else {
					n++
				}
			})
		}
	}
	changing.Wait()
	return n, stopped, err
}

func isChild(j *api.Job) bool { return j.ParentID != nil && *j.ParentID != "" }
