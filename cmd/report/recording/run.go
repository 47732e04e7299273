package recording

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/compare"
)

// allocID is the placeholder in a recording for the ID of an allocation, and for
// its directory.
var allocID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bALLOC\b`) })

// Run returns what is compared of the recording with the run of a job.
func (r Recording) Run() *compare.Run {
	run := &compare.Run{
		Took: compare.Unknown, Ring: ring,
		// Of the rest, a recording has what its actions asked for.
		Lacks: []compare.Kind{compare.Outcome, compare.Service, compare.Check, compare.Variable, compare.Template, compare.File, compare.Output},
	}
	if n := len(r.Deployments); n > 0 {
		for _, d := range r.Deployments[n-1] {
			run.Deployments = append(run.Deployments, compare.Deployment{Status: d.Status + ": " + d.Description})
		}
	} else {
		run.Lacks = append(run.Lacks, compare.Deployments)
	}
	if !slices.ContainsFunc(r.Allocs, func(a Alloc) bool { return a.Healthy != nil }) {
		run.Lacks = append(run.Lacks, compare.Health)
	}
	for _, a := range slices.SortedStableFunc(slices.Values(r.Allocs), byStart) {
		run.Allocs = append(run.Allocs, a.compared())
	}
	return run
}

// compared returns what is compared of an allocation.
func (a Alloc) compared() *compare.Alloc {
	c := &compare.Alloc{Values: map[compare.Key]string{{Kind: compare.Status}: a.Status}, Tasks: map[string]*compare.Task{}}
	c.Job, c.Group, c.Index = parts(a.Name)
	if a.Description != "" {
		c.Values[compare.Key{Kind: compare.Status}] += ": " + a.Description
	}
	if a.Previous {
		c.Values[compare.Key{Kind: compare.Replacement}] = "true"
	}
	if a.Healthy != nil {
		c.Values[compare.Key{Kind: compare.Health}] = strconv.FormatBool(*a.Healthy)
	}
	created := seconds(a.Created)
	for name, t := range a.Tasks {
		c.Tasks[name] = t.compared(created)
	}
	return c
}

// compared returns what is compared of a task of an allocation that was created at
// a time of the run.
func (t Task) compared(created time.Duration) *compare.Task {
	c := &compare.Task{
		Received: compare.Unknown, Started: compare.Unknown, Ended: compare.Unknown,
		Values: map[compare.Key]string{
			{Kind: compare.State}:    t.State,
			{Kind: compare.Failed}:   strconv.FormatBool(t.Failed),
			{Kind: compare.Restarts}: strconv.Itoa(t.Restarts),
		},
	}
	timed := slices.ContainsFunc(t.Events, func(e Event) bool { return e.At != 0 })
	for _, e := range t.Events {
		at := compare.Unknown
		if timed {
			at = created + seconds(e.At)
		}
		switch e.Type {
		case api.TaskReceived:
			c.Received = at
		case api.TaskStarted:
			c.Stopped = false
			if c.Started < 0 && c.Received >= 0 { // all events are known
				c.Started = at
			}
		case api.TaskKilling:
			c.Stopped = true
		case api.TaskTerminated:
			c.Values[compare.Key{Kind: compare.ExitCode}] = e.Details["exit_code"]
			if t.State == "dead" {
				c.Ended = at
			}
		}
		message := allocID().ReplaceAllString(e.Message, "ID")
		c.Events = append(c.Events, compare.NewEvent(at, e.Type, message, e.Details))
	}
	return c
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// parts returns the job, the group and the index in the name of an allocation. A job
// that another one launched adds its part to the group.
func parts(name string) (job, group string, index int) {
	name, number, _ := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	index, _ = strconv.Atoi(number)
	job, group = name, name
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		job, group = name[:dot], name[dot+1:]
	}
	if parent, launched, ok := strings.Cut(job, "/"); ok {
		return parent, fmt.Sprintf("%s/%s", launched, group), index
	}
	return job, group, index
}
