package httpapi_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// serveServices runs two jobs in two namespaces, with a service of the same
// name, and waits until all four instances are registered. It returns the
// allocation of the first job.
func serveServices(t *testing.T) (f *fixture, alloc string) {
	t.Helper()
	job := func(id, namespace string, count int, services ...*api.Service) *api.Job {
		j := newJob(id, "service", newTask(id, "run_for", "1h"))
		j.Namespace, j.TaskGroups[0].Count, j.TaskGroups[0].Services = &namespace, &count, services
		j.Canonicalize()
		return j
	}
	f = serve(t,
		job("web", "default", 1, &api.Service{Name: "api", Provider: "nomad", Tags: []string{"b", "a"}}, &api.Service{Name: "db", Provider: "nomad"}),
		job("paid", "prod", 2, &api.Service{Name: "api", Provider: "nomad", Tags: []string{"c"}}))
	for n := 0; n < 4; {
		e := f.until(func(e event.Event) bool {
			s, ok := e.Body.(event.Service)
			return ok && s.Registered
		})
		if n++; e.Alloc.Job == "web" {
			alloc = e.Alloc.ID
		}
	}
	for _, name := range []string{"api", "db"} { // the server receives events concurrently with this test
		follow(f, "/v1/service/"+name, func(list []*api.ServiceRegistration) bool { return list[0].CreateIndex > 1 })
	}
	return f, alloc
}

// The event of a service has the namespace of its job, also in a run that ends with its
// jobs, where the keys of jobs have none.
func TestEventsOfServicesInNamespaces(t *testing.T) {
	t.Parallel()
	f, _ := serveServices(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	events, err := f.client.EventStream().Stream(ctx, map[api.Topic][]string{api.TopicService: {"*"}}, 0, &api.QueryOptions{Namespace: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	f.next(ctx, events, func(e api.Event) bool {
		s, err := e.Service()
		return err == nil && s.JobID == "paid" && s.Namespace == "prod"
	})
}

// Services are listed by namespace and name, each with the tags of all its
// instances.
func TestServicesAreListed(t *testing.T) {
	t.Parallel()
	f, _ := serveServices(t)
	for query, want := range map[string]string{
		"":                         "default: api [b a], db []; prod: api [c]",
		"namespace=*&reverse=true": "prod: api [c]; default: api [b a], db []",
		"namespace=prod":           "prod: api [c]",
		"namespace=none":           "",
		"prefix=d":                 "default: db []",
		"prefix=a":                 "default: api [b a]; prod: api [c]",
		"per_page=1":               "default: api [b a], db []",
		"next_token=e":             "prod: api [c]",
	} {
		var namespaces []string
		for _, l := range get[[]*api.ServiceRegistrationListStub](f, "/v1/services?"+query) {
			var names []string
			for _, s := range l.Services {
				names = append(names, fmt.Sprint(s.ServiceName, " ", s.Tags))
			}
			namespaces = append(namespaces, l.Namespace+": "+strings.Join(names, ", "))
		}
		if got := strings.Join(namespaces, "; "); got != want {
			t.Errorf("%q: %s\nwant %s", query, got, want)
		}
	}
}

// The instances of a service, a job or an allocation are sorted by ID, with the
// indexes of their service.
func TestInstancesAreListed(t *testing.T) {
	t.Parallel()
	f, alloc := serveServices(t)
	for path, want := range map[string]int{
		"/v1/service/api?":                                      3,
		"/v1/service/api?namespace=prod&":                       2,
		"/v1/service/api?per_page=2&":                           2,
		"/v1/job/web/services?":                                 2,
		"/v1/job/paid/services?":                                2,
		"/v1/job/web/services?per_page=1&":                      1,
		"/v1/allocation/" + alloc + "/services?":                2,
		"/v1/allocation/" + alloc + "/services?namespace=prod&": 0,
	} {
		for _, reverse := range []bool{false, true} {
			list := get[[]*api.ServiceRegistration](f, fmt.Sprint(path, "reverse=", reverse))
			var ids []string
			for _, s := range list {
				ids = append(ids, s.ID)
				if s.CreateIndex <= 1 || s.ModifyIndex != s.CreateIndex || s.Tags == nil || s.AllocID == "" {
					t.Errorf("%s: %+v", path, s)
				}
			}
			sorted := slices.Sorted(slices.Values(ids))
			if reverse {
				slices.Reverse(sorted)
			}
			if len(ids) != want || !slices.Equal(ids, sorted) {
				t.Errorf("%sreverse=%v: %d instances %q, want %d", path, reverse, len(ids), ids, want)
			}
		}
	}
}

// A key chooses the same instances as long as they exist, and other keys choose
// others.
func TestChosenInstances(t *testing.T) {
	t.Parallel()
	f, _ := serveServices(t)
	choose := func(n int, key string) (ids []string) {
		for _, s := range get[[]*api.ServiceRegistration](f, fmt.Sprintf("/v1/service/api?choose=%d%%7C%s", n, key)) {
			ids = append(ids, s.ID)
		}
		return ids
	}
	first, rank := map[string]bool{}, map[string][]string{}
	for i := range 32 { // it is practically impossible that all keys choose the same one of three
		key := fmt.Sprint("key-", i)
		rank[key] = choose(9, key)
		if len(rank[key]) != 3 {
			t.Fatalf("%d instances are chosen of 3", len(rank[key]))
		}
		first[rank[key][0]] = true
		if diff := cmp.Diff(rank[key][:2], choose(2, key)); diff != "" {
			t.Errorf("2 chosen again (-want +got):\n%s", diff)
		}
	}
	if len(first) != 3 {
		t.Errorf("%d instances are ever chosen first, want 3", len(first))
	}
	for _, wrong := range []string{"1", "x|key", "0|key", "-1|key", "1|", "|key"} {
		f.ask("GET", "/v1/service/api?choose="+url.QueryEscape(wrong), "", 400, "Parameter for choose must be in form '<number>|<key>'")
	}
	gone := rank["key-0"][0]
	f.answers(t, map[string]string{"DELETE /v1/service/api/" + gone: "200 null"})
	f.answers(t, map[string]string{"DELETE /v1/service/api/" + gone: "404 service registration not found"})
	for key, before := range rank {
		want := slices.DeleteFunc(slices.Clone(before), func(id string) bool { return id == gone })
		if diff := cmp.Diff(want, choose(9, key)); diff != "" {
			t.Errorf("%s: without one (-want +got):\n%s", key, diff)
		}
	}
}

// Namespaces are those of the jobs, and the default one.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	f, _ := serveServices(t)
	for query, want := range map[string]string{"": "default prod", "reverse=true": "prod default", "prefix=p": "prod", "prefix=x": ""} {
		var names []string
		for _, n := range get[[]*api.Namespace](f, "/v1/namespaces?"+query) {
			names = append(names, n.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	if n := get[api.Namespace](f, "/v1/namespace/prod"); n.Name != "prod" || n.CreateIndex == 0 {
		t.Errorf("%+v", n)
	}
	for path, want := range map[string]int{
		"/v1/jobs": 2, "/v1/jobs?namespace=prod": 1, "/v1/allocations?namespace=prod": 2, "/v1/allocations?namespace=none": 0,
		"/v1/job/paid/allocations?namespace=default": 0, "/v1/deployments?namespace=prod": 1,
	} {
		if got := get[[]any](f, path); len(got) != want {
			t.Errorf("%s: %d, want %d", path, len(got), want)
		}
	}
}

// A check is described as in Nomad: by nothing that it has not.
func TestChecksOfAnAllocation(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("web", "service", newTask("web", "run_for", "1h")))
	id := f.running("web").ID
	f.ask("GET", "/v1/client/allocation/"+id+"/checks", "", 200, "null")
	f.engine.Services().SetCheck(id, api.AllocCheckStatus{ID: "x", Check: "alive", Group: "web.g[0]", Mode: "healthiness", Output: "nomad: tcp ok", Service: "web", Status: "success", Timestamp: 1})
	f.engine.Services().SetCheck(id, api.AllocCheckStatus{ID: "y", Check: "ready", Group: "web.g[0]", Mode: "readiness", Service: "web", Task: "web", Status: "failure", StatusCode: 500, Timestamp: 2})
	f.ask("GET", "/v1/client/allocation/"+id+"/checks", "", 200, `{`+
		`"x":{"ID":"x","Check":"alive","Group":"web.g[0]","Mode":"healthiness","Output":"nomad: tcp ok","Service":"web","Status":"success","Timestamp":1},`+
		`"y":{"ID":"y","Check":"ready","Group":"web.g[0]","Mode":"readiness","Output":"","Service":"web","Task":"web","Status":"failure","StatusCode":500,"Timestamp":2}}`)
}
