package httpapi_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// frames returns the event stream of Nomad's client.
func (f *fixture) frames(ctx context.Context, topics map[api.Topic][]string, index uint64) <-chan *api.Events {
	f.Helper()
	frames, err := f.client.EventStream().Stream(ctx, topics, index, nil)
	if err != nil {
		f.Fatal(err)
	}
	return frames
}

// next returns the next wanted event of a stream.
func (f *fixture) next(ctx context.Context, frames <-chan *api.Events, wanted func(api.Event) bool) api.Event {
	f.Helper()
	for {
		select {
		case frame, ok := <-frames:
			if !ok || frame.Err != nil {
				f.Fatalf("the stream ended: %+v", frame)
			}
			if i := slices.IndexFunc(frame.Events, wanted); i >= 0 {
				return frame.Events[i]
			}
		case <-ctx.Done():
			f.Fatal("it was not told")
		}
	}
}

// A client receives the events of a job, its evaluation and its allocation in
// that order, and later ones of the allocation, even if it connects late.
func TestEventStreamOfAJob(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f := serve(t, newJob("job", "batch", newTask("t")))
	alloc := f.in("t", "dead")
	var last uint64
	var seen []string
	frames := f.frames(ctx, nil, 0)
	f.next(ctx, frames, func(e api.Event) bool {
		if e.Index < last {
			t.Errorf("index %d comes behind %d", e.Index, last)
		}
		last = e.Index
		seen = append(seen, string(e.Topic)+" "+e.Type)
		if e.Topic != api.TopicAllocation {
			return false
		}
		a, err := e.Allocation()
		if err != nil || a.ID != alloc.ID || a.Job != nil || !slices.Contains(e.FilterKeys, "job") {
			t.Errorf("%+v: allocation %+v, %v", e, a, err)
		}
		return a.ClientStatus == api.AllocClientStatusComplete
	})
	want := []string{"Node NodeRegistration", "Job JobRegistered", "Evaluation JobRegistered", "Allocation PlanResult"}
	if len(seen) < len(want) || !slices.Equal(seen[:len(want)], want) {
		t.Errorf("heard %q, want first %q", seen, want)
	}
}

// A client receives only the topics that it requests.
func TestEventStreamTopics(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f := serve(t, newJob("a", "batch", newTask("t", "run_for", "1h")), newJob("b", "batch", newTask("t", "run_for", "1h")))
	f.running("t")
	f.running("t")
	for _, topics := range []map[api.Topic][]string{
		{api.TopicAllocation: {"b"}},
		{api.TopicJob: {"b"}, api.TopicDeployment: {"*"}},
		{api.TopicAll: {"b"}},
	} {
		e := f.next(ctx, f.frames(ctx, topics, 0), func(api.Event) bool { return true })
		if e.Key != "b" && !slices.Contains(e.FilterKeys, "b") {
			t.Errorf("%v: heard of %s %q", topics, e.Topic, e.Key)
		}
	}
}

// The ID of a deployment finds the allocations and the evaluation that came with it,
// from the first event on.
func TestEventStreamOfADeployment(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f := serve(t, newJob("a", "service", newTask("t", "run_for", "1h")), newJob("b", "service", newTask("t", "run_for", "1h")))
	f.running("t")
	f.running("t")
	id := follow(f, "/v1/job/b/deployment", func(d *api.Deployment) bool { return d != nil }).ID
	topics := map[api.Topic][]string{api.TopicAllocation: {id}, api.TopicEvaluation: {id}}
	var seen []string
	f.next(ctx, f.frames(ctx, topics, 0), func(e api.Event) bool {
		if !slices.Equal(e.FilterKeys, []string{"b", id}) {
			t.Errorf("%s %s is found by %q", e.Topic, e.Type, e.FilterKeys)
		}
		seen = append(seen, string(e.Topic)+" "+e.Type)
		return len(seen) == 2
	})
	if want := []string{"Evaluation JobRegistered", "Allocation PlanResult"}; !slices.Equal(seen, want) {
		t.Errorf("heard %q, want %q", seen, want)
	}
}

// firstEvents is an index after those of a job's registration.
const firstEvents = 4

// A future index is not waited for: the last event is sent again.
func TestEventStreamFromAnIndex(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	f.running("t")
	all := func(api.Event) bool { return true }
	f.next(ctx, f.frames(ctx, nil, 0), func(e api.Event) bool { // at least two indexes after the first
		return e.Topic == api.TopicAllocation && e.Index > firstEvents
	})
	first := f.next(ctx, f.frames(ctx, nil, 0), all)
	second := f.next(ctx, f.frames(ctx, nil, first.Index+1), all)
	if second.Index <= first.Index {
		t.Errorf("from index %d on: %d", first.Index+1, second.Index)
	}
	if last := f.next(ctx, f.frames(ctx, nil, 1<<40), all); last.Index <= second.Index || last.Index >= 1<<40 {
		t.Errorf("from an index to come: %d", last.Index)
	}
}

func TestEventStreamBeginsWithAHeartbeat(t *testing.T) {
	t.Parallel()
	f := serve(t)
	resp := f.do("GET", "/v1/event/stream", nil)
	lines := json.NewDecoder(resp.Body)
	var first, second api.Events
	if err := lines.Decode(&first); err != nil || !first.IsHeartbeat() {
		t.Errorf("first %+v, %v", first, err)
	}
	if err := lines.Decode(&second); err != nil || second.IsHeartbeat() || second.Events[0].Topic != api.TopicNode {
		t.Errorf("then %+v, %v", second, err)
	}
	for _, topic := range []string{"Job:a:b", ":a", "Job:"} {
		if resp := f.do("GET", "/v1/event/stream?topic="+topic, nil); resp.StatusCode != 400 {
			t.Errorf("topic %q: status %d", topic, resp.StatusCode)
		}
	}
}

// A service appears on the event stream when it is registered and deregistered.
func TestServicesOnTheEventStream(t *testing.T) {
	t.Parallel()
	f := serve(t)
	events := json.NewDecoder(f.do("GET", "/v1/event/stream?topic=Service&topic=Node:none", nil).Body)
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.TaskGroups[0].Services = []*api.Service{{Name: "web", Provider: "nomad", Tags: []string{"a"}}}
	job.Canonicalize()
	if err := f.engine.Submit(job); err != nil {
		t.Fatal(err)
	}
	next := func(want string) {
		t.Helper()
		var batch api.Events
		for len(batch.Events) == 0 {
			if err := events.Decode(&batch); err != nil {
				t.Fatal(err)
			}
		}
		e := batch.Events[0]
		s, err := e.Service()
		if err != nil || e.Type != want || e.Key != s.ID || !cmp.Equal(e.FilterKeys, []string{"job", "web"}) || batch.Index != e.Index {
			t.Fatalf("%+v, %v; want a %s", e, err, want)
		}
		if s.ServiceName != "web" || s.NodeID != nodeID || s.Datacenter != "dc1" || s.Namespace != "default" || s.JobID != "job" || s.AllocID == "" || s.CreateIndex != e.Index {
			t.Errorf("%+v", s)
		}
	}
	next("ServiceRegistration")
	if _, _, err := f.client.Jobs().Deregister("job", false, nil); err != nil {
		t.Fatal(err)
	}
	next("ServiceDeregistration")
}

// A stream has only the events of the namespaces that it asks for.
func TestEventsOfANamespace(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	if _, err := f.client.Namespaces().Register(&api.Namespace{Name: "other"}, nil); err != nil {
		t.Fatal(err)
	}
	volume := ""
	for _, namespace := range []string{"default", "other"} {
		in := &api.WriteOptions{Namespace: namespace}
		job := deployable(1, "a", asIs)
		job.Namespace, job.TaskGroups[0].Services = &namespace, []*api.Service{{Name: "web", Provider: "nomad"}}
		job.Canonicalize()
		registered, _, err := f.client.Jobs().Register(job, in)
		if err != nil {
			t.Fatal(err)
		}
		f.running("t")
		e, _, err := f.client.Evaluations().Info(registered.EvalID, &api.QueryOptions{Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		follow(f, "/v1/deployment/"+e.DeploymentID+"?namespace="+namespace, func(d *api.Deployment) bool { return d.Status == "successful" })
		if _, err := f.client.Allocations().Stop(&api.Allocation{ID: f.allocIn(namespace)}, nil); err != nil {
			t.Fatal(err)
		}
		f.running("t")
		created, _, err := f.client.HostVolumes().Create(&api.HostVolumeCreateRequest{Volume: &api.HostVolume{Name: "v-" + namespace, PluginID: "mkdir"}}, in)
		if err != nil {
			t.Fatal(err)
		}
		volume = created.Volume.ID
		if _, _, err := f.client.Variables().Create(&api.Variable{Path: "last", Items: api.VariableItems{"k": "v"}}, in); err != nil {
			t.Fatal(err)
		}
	}
	type line struct {
		Index  uint64
		Events []struct {
			api.Event
			Namespace string
		}
	}
	stream := func(query string) map[string]map[string]bool { // namespaces and types, by topic
		t.Helper()
		seen := map[string]map[string]bool{}
		lines := json.NewDecoder(f.do("GET", "/v1/event/stream?"+query, nil).Body)
		for {
			var l line
			if err := lines.Decode(&l); err != nil {
				t.Fatal(err)
			}
			for _, e := range l.Events {
				topic := string(e.Topic)
				if seen[topic] == nil {
					seen[topic] = map[string]bool{}
				}
				seen[topic][e.Namespace+" "+e.Type] = true
				if topic == "Variable" && e.Namespace == "other" {
					v := e.Payload["Metadata"].(map[string]any)
					if v["ModifyIndex"] != float64(e.Index) || v["CreateIndex"] != float64(e.Index) || e.Payload["Deleted"] != false {
						t.Errorf("at index %d: %v", e.Index, e.Payload)
					}
					return seen
				}
			}
		}
	}
	sorted := func(seen map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(seen)), ", ") }
	seen := stream("namespace=other")
	for topic, want := range map[string]string{
		"Job":        "other AllocationUpdated, other JobRegistered",
		"Allocation": "other AllocationUpdated, other PlanResult",
		"Evaluation": "other AllocationUpdateDesiredStatus, other JobRegistered",
		"Deployment": "other DeploymentAllocHealth, other DeploymentStatusUpdate",
		"Service":    "other ServiceDeregistration, other ServiceRegistration",
		"Variable":   "other VariableUpdated",
		"HostVolume": "other HostVolumeRegistered",
		"Node":       " NodeRegistration",
	} {
		if got := sorted(seen[topic]); got != want {
			t.Errorf("%s: %s\nwant %s", topic, got, want)
		}
	}
	for _, key := range []string{volume, "v-other", "mkdir"} {
		if seen := stream("namespace=*&topic=Variable&topic=HostVolume:" + key); !seen["HostVolume"]["other HostVolumeRegistered"] {
			t.Errorf("by %s: %v", key, seen)
		}
	}
}

// allocIn returns the ID of an allocation in a namespace.
func (f *fixture) allocIn(namespace string) string {
	f.Helper()
	return get[[]*api.AllocationListStub](f, "/v1/allocations?namespace="+namespace)[0].ID
}
