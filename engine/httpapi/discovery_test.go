package httpapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/leaf/event"
)

// serveAgent runs jobs of one name with a service of one name in two namespaces
// of a resident engine, and waits until both services are registered.
func serveAgent(t *testing.T) *fixture {
	t.Helper()
	f := serveResident(t)
	for _, namespace := range []string{"default", "prod"} {
		if _, err := f.client.Namespaces().Register(&api.Namespace{Name: namespace}, nil); err != nil {
			t.Fatal(err)
		}
		j := newJob("web", "service", newTask("t", "run_for", "1h"))
		j.Namespace = &namespace
		j.TaskGroups[0].Services = []*api.Service{
			{Name: "web", Provider: "nomad", PortLabel: "80", Address: "127.0.0.1", Tags: []string{"traefik.enable=true", namespace}},
			{Name: "hidden", Provider: "nomad", PortLabel: "81", Address: "127.0.0.1", Tags: []string{namespace}},
		}
		j.Canonicalize()
		if _, err := f.engine.Register(engine.Registration{Job: j}); err != nil {
			t.Fatal(err)
		}
		for range j.TaskGroups[0].Services {
			f.until(func(e event.Event) bool {
				s, ok := e.Body.(event.Service)
				return ok && s.Registered
			})
		}
	}
	return f
}

// scrape sends a request as a discovery does, and returns what the result has by
// name.
func scrape[T any](t *testing.T, f *fixture, path string, header ...string) (result T) {
	t.Helper()
	resp := f.do("GET", path, nil, header...)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", path, resp.StatusCode, readAll(t, resp.Body))
	}
	if err := json.NewDecoder(resp.Body).Decode(&result); err != nil {
		t.Fatal(err)
	}
	return result
}

// Prometheus lists the services of a namespace, and then the instances of each.
func TestDiscoveryOfPrometheus(t *testing.T) {
	t.Parallel()
	f := serveAgent(t)
	for _, namespace := range []string{"default", "prod"} {
		const query = "&region=global&stale="
		var names []string
		lists := scrape[[]*api.ServiceRegistrationListStub](t, f, "/v1/services?namespace="+namespace+query)
		for _, list := range lists {
			for _, s := range list.Services {
				names = append(names, list.Namespace+"/"+s.ServiceName)
			}
		}
		if want := []string{namespace + "/hidden", namespace + "/web"}; !slices.Equal(names, want) {
			t.Errorf("%q, want %q", names, want)
		}
		found := scrape[[]*api.ServiceRegistration](t, f, "/v1/service/web?namespace="+namespace+query)
		if len(found) != 1 || found[0].Namespace != namespace || found[0].JobID != "web" || found[0].Address != "127.0.0.1" || found[0].Port != 80 ||
			found[0].Tags[1] != namespace || found[0].NodeID != nodeID || found[0].Datacenter != "dc1" {
			t.Errorf("%+v", found)
		}
	}
	if all := scrape[[]*api.ServiceRegistrationListStub](t, f, "/v1/services?namespace=*"); len(all) != 2 {
		t.Errorf("in all namespaces: %+v", all)
	}
	if own := scrape[[]*api.ServiceRegistration](t, f, "/v1/service/web"); len(own) != 1 || own[0].Namespace != "default" {
		t.Errorf("without a namespace: %+v", own)
	}
}

// Traefik lists the services, asks for the instances with its tag, and follows
// the event stream.
func TestDiscoveryOfTraefik(t *testing.T) {
	t.Parallel()
	f := serveAgent(t)
	var found []string
	for _, list := range scrape[[]*api.ServiceRegistrationListStub](t, f, "/v1/services?namespace=prod&stale=") {
		for _, s := range list.Services {
			filter := `filter=Tags+contains+%22traefik.enable%3Dtrue%22`
			for _, i := range scrape[[]*api.ServiceRegistration](t, f, "/v1/service/"+s.ServiceName+"?namespace=prod&stale=&"+filter) {
				found = append(found, i.ServiceName+" "+i.Namespace)
			}
		}
	}
	if diff := cmp.Diff([]string{"web prod"}, found); diff != "" {
		t.Error(diff)
	}
	one := scrape[[]*api.ServiceRegistration](t, f, "/v1/service/web?namespace=*&choose=1%7Ckey")
	again := scrape[[]*api.ServiceRegistration](t, f, "/v1/service/web?namespace=*&choose=1%7Ckey")
	if len(one) != 1 || len(again) != 1 || one[0].ID != again[0].ID {
		t.Errorf("chosen: %+v, then %+v", one, again)
	}
	events, err := f.client.EventStream().Stream(t.Context(), map[api.Topic][]string{api.TopicService: {"*"}}, 0, &api.QueryOptions{Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	for seen := 0; seen < 2; {
		batch := <-events
		if batch.Err != nil {
			t.Fatal(batch.Err)
		}
		for _, e := range batch.Events {
			s, err := e.Service()
			if err != nil || s.Namespace != "prod" || s.JobID != "web" || !slices.Contains(e.FilterKeys, "web") {
				t.Errorf("%+v, %v", e, err)
			}
			seen++
		}
	}
}

// Events of jobs of one name in two namespaces are told apart, and have their
// IDs, not their keys.
func TestEventsInNamespaces(t *testing.T) {
	t.Parallel()
	f := serveAgent(t)
	topics := map[api.Topic][]string{api.TopicJob: {"web"}, api.TopicAllocation: {"web"}, api.TopicEvaluation: {"web"}, api.TopicDeployment: {"web"}}
	events, err := f.client.EventStream().Stream(t.Context(), topics, 0, &api.QueryOptions{Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[api.Topic]bool{}
	for ordered, purged := false, false; !purged; {
		if len(seen) >= 3 && !ordered { // not before: objects of a purged job may be forgotten at any time
			ordered = true
			if _, err := f.engine.Handle(event.JobKey("prod", "web")).Deregister(engine.Deregistration{Purge: true}); err != nil {
				t.Fatal(err)
			}
		}
		batch := <-events
		if batch.Err != nil {
			t.Fatal(batch.Err)
		}
		for _, e := range batch.Events {
			seen[e.Topic] = true
			if slices.Contains(e.FilterKeys, "web prod") || e.Key == "web prod" {
				t.Errorf("%+v", e)
			}
			if e.Type == "JobDeregistered" && e.Topic == api.TopicJob {
				job, _, err := e.DeregisteredJob()
				purged = true
				if err != nil || *job.ID != "web" || *job.Namespace != "prod" || e.Key != "web" {
					t.Errorf("%+v, %v", e, err)
				}
			}
		}
	}
}

// Changes of the node and its pools are events.
func TestEventsOfNodesAndPools(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	if _, err := f.client.NodePools().Register(&api.NodePool{Name: "gpu", Description: "fast"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client.Nodes().ToggleEligibility(nodeID, false, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client.NodePools().Delete("gpu", nil); err != nil {
		t.Fatal(err)
	}
	topics := map[api.Topic][]string{api.TopicNode: {nodeID}, api.TopicNodePool: {"gpu"}}
	events, err := f.client.EventStream().Stream(t.Context(), topics, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) < 4 {
		batch := <-events
		if batch.Err != nil {
			t.Fatal(batch.Err)
		}
		for _, e := range batch.Events {
			what := e.Type
			switch e.Topic {
			case api.TopicNodePool:
				pool, err := e.NodePool()
				if err != nil {
					t.Fatal(err)
				}
				what += " " + pool.Name + " " + pool.Description
			default:
				node, err := e.Node()
				if err != nil {
					t.Fatal(err)
				}
				what += " " + node.SchedulingEligibility
			}
			got = append(got, what)
		}
	}
	// Events have the current state of a node.
	want := []string{"NodeRegistration ineligible", "NodePoolUpserted gpu fast", "NodeStreamEvent ineligible", "NodePoolDeleted gpu fast"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
