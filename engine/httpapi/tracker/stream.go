package tracker

import (
	"context"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/httpapi/feed"
	"taskrun/engine/leaf/event"
)

// New returns a tracker of an engine, on a node with an ID. The caller must
// close it.
func New(e *engine.Engine, node string) *Tracker {
	ctx, cancel := context.WithCancel(context.Background())
	t := &Tracker{Feed: feed.New(), engine: e, node: node, cancel: cancel, ended: make(chan struct{})}
	t.Feed.Add(fold.FirstIndex, feed.Occurrence{Topic: api.TopicNode, Kind: "NodeRegistration", Key: node})
	sub := e.Subscribe(false)
	go func() {
		defer close(t.ended)
		defer t.Feed.End()
		defer sub.Close()
		for ev, ok := sub.Next(ctx); ok; ev, ok = sub.Next(ctx) {
			t.Feed.Add(fold.Index(ev), t.occurrences(ev)...)
		}
	}()
	return t
}

// Close ends the tracker.
func (t *Tracker) Close() {
	t.cancel()
	<-t.ended
}

// occurrences converts an event to those of the event stream.
func (t *Tracker) occurrences(ev event.Event) []feed.Occurrence {
	switch b := ev.Body.(type) {
	case event.Deployment:
		return []feed.Occurrence{ofJob(b.Job, feed.Occurrence{Topic: api.TopicDeployment, Kind: "DeploymentStatusUpdate", Key: b.ID})}
	case event.Evaluation:
		return t.evaluated(b)
	case event.Variable:
		shown := *b.VariableMetadata
		if shown.ModifyIndex = fold.Index(ev); shown.CreateIndex == 0 {
			shown.CreateIndex = shown.ModifyIndex
		}
		return []feed.Occurrence{{
			Topic: feed.TopicVariable, Kind: "VariableUpdated", Key: b.Path, Object: feed.Variable{Metadata: &shown, Deleted: b.Deleted},
		}}
	case event.Object:
		return ofObject(b)
	case event.Service:
		return []feed.Occurrence{serviceOccurrence(ev.Alloc, b, fold.Index(ev))}
	case event.AllocStatus, event.TaskEvent, event.TaskState, event.AllocHealth, event.Moved:
		return t.allocation(ev)
	}
	return nil
}

// ofJob returns an occurrence about a job with a key, whose ID finds it.
func ofJob(key string, o feed.Occurrence) feed.Occurrence {
	_, id := event.SplitJobKey(key)
	o.Job, o.Filters = key, append([]string{id}, o.Filters...)
	return o
}

// job returns an occurrence of a job.
func job(kind, key string) feed.Occurrence {
	_, id := event.SplitJobKey(key)
	return feed.Occurrence{Topic: api.TopicJob, Kind: kind, Key: id, Job: key}
}

// ofObject converts a change of the registry.
func ofObject(b event.Object) []feed.Occurrence {
	o := feed.Occurrence{Key: b.Key, Object: b.Value}
	switch b.Table {
	case event.Nodes:
		o.Topic, o.Kind = api.TopicNode, "NodeStreamEvent"
	case event.NodePools:
		o.Topic, o.Kind = api.TopicNodePool, "NodePoolUpserted"
		if b.Deleted {
			o.Kind = "NodePoolDeleted"
		}
	case event.HostVolumes:
		o.Topic, o.Kind = feed.TopicHostVolume, "HostVolumeRegistered"
		if b.Deleted {
			o.Kind = "HostVolumeDeleted"
		}
		if v, ok := b.Value.(*api.HostVolume); ok {
			o.Filters = []string{v.ID, v.Name, v.PluginID}
		}
	default: // no topic
		return nil
	}
	return []feed.Occurrence{o}
}

func (t *Tracker) evaluated(v event.Evaluation) []feed.Occurrence {
	kind, changed := "EvaluationUpdated", false
	switch v.Trigger {
	case event.JobRegister, event.JobScaling, event.PeriodicJob:
		if _, registration := t.Version(v.Job, v.Version); registration == v.ID {
			kind, changed = "JobRegistered", true
		}
	case event.JobDeregister:
		kind, changed = "JobDeregistered", true
	case event.AllocStop:
		kind = "AllocationUpdateDesiredStatus"
	case event.AllocFailure, event.DeploymentWatcher:
	}
	evaluation := feed.Occurrence{Topic: api.TopicEvaluation, Kind: kind, Key: v.ID}
	if v.Deployment != "" {
		evaluation.Filters = []string{v.Deployment}
	}
	list := []feed.Occurrence{ofJob(v.Job, evaluation)}
	if changed {
		list = append([]feed.Occurrence{job(kind, v.Job)}, list...)
	}
	return list
}

func (t *Tracker) allocation(ev event.Event) []feed.Occurrence {
	alloc := ofJob(ev.Alloc.Job, feed.Occurrence{Topic: api.TopicAllocation, Kind: "AllocationUpdated", Key: ev.Alloc.ID})
	deployment := ""
	t.engine.State().Look(func(run *fold.Run) {
		a := run.Find(ev.Alloc.ID)
		if a != nil && a.Created == fold.Index(ev) {
			alloc.Kind = "PlanResult"
		}
		if d := run.Deployment(ev.Alloc.Job); d != nil {
			deployment = d.ID
		} else if a != nil { // its first news come later
			if v := run.Evaluation(a.Evaluation); v != nil {
				deployment = v.Deployment
			}
		}
	})
	if deployment != "" {
		alloc.Filters = append(alloc.Filters, deployment)
	}
	list := []feed.Occurrence{alloc}
	switch body := ev.Body.(type) {
	case event.Moved:
		list[0].Kind = "PlanResult"
	case event.AllocStatus:
		if Terminal(body.Status) {
			list = append(list, job(alloc.Kind, ev.Alloc.Job))
		}
	case event.AllocHealth:
		if deployment != "" {
			list = append(list, ofJob(ev.Alloc.Job, feed.Occurrence{Topic: api.TopicDeployment, Kind: "DeploymentAllocHealth", Key: deployment}))
		}
	}
	return list
}

func serviceOccurrence(a *event.Alloc, body event.Service, index uint64) feed.Occurrence {
	kind := "ServiceDeregistration"
	if body.Registered {
		kind = "ServiceRegistration"
	}
	namespace, id := event.SplitJobKey(a.Job)
	return ofJob(a.Job, feed.Occurrence{
		Topic: api.TopicService, Kind: kind, Key: body.ID, Filters: []string{body.Name},
		Object: &api.ServiceRegistration{
			ID: body.ID, ServiceName: body.Name, Namespace: namespace, JobID: id, AllocID: a.ID,
			Tags: body.Tags, Address: body.Address, Port: body.Port, CreateIndex: index, ModifyIndex: index,
		},
	})
}
