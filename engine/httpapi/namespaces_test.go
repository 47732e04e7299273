package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// refused fails unless an error has a status and a text.
func refused(t *testing.T, err error, status int, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint("response code: ", status)) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want %d and %q", err, status, text)
	}
}

// ask sends a request and fails unless the answer has a status and a text.
func (f *fixture) ask(method, path, body string, status int, text string) {
	f.Helper()
	a := f.do(method, path, strings.NewReader(body))
	if got := readAll(f.TB.(*testing.T), a.Body); a.StatusCode != status || !strings.Contains(got, text) {
		f.Errorf("%s %.80s %.80s: %d %q, want %d %q", method, path, body, a.StatusCode, got, status, text)
	}
}

func TestNamespaceLifecycle(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	ns := f.client.Namespaces()
	want := &api.Namespace{
		Name: "team-a", Description: "d", Meta: map[string]string{"k": "v"},
		Capabilities: &api.NamespaceCapabilities{EnabledTaskDrivers: []string{"exec"}},
	}
	created, err := ns.Register(want, nil)
	if err != nil || created.LastIndex < 2 {
		t.Fatalf("%+v, %v", created, err)
	}
	got, meta, err := ns.Info("team-a", nil)
	if err != nil || meta.LastIndex != created.LastIndex {
		t.Fatalf("%+v, %v", meta, err)
	}
	want.CreateIndex, want.ModifyIndex = created.LastIndex, created.LastIndex
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if first, _, err := ns.Info("default", nil); err != nil || first.Name != "default" {
		t.Errorf("the default namespace is %+v, %v", first, err)
	}
	updated, err := ns.Register(&api.Namespace{Name: "team-a"}, nil)
	if err != nil || updated.LastIndex <= created.LastIndex {
		t.Errorf("%+v, %v", updated, err)
	}
	if got, _, _ := ns.Info("team-a", nil); got.CreateIndex != created.LastIndex || got.ModifyIndex != updated.LastIndex || got.Description != "" {
		t.Errorf("%+v", got)
	}
	if list, meta, err := ns.List(nil); err != nil || len(list) != 2 || list[1].Name != "default" || meta.LastIndex != updated.LastIndex {
		t.Errorf("%v, %+v, %v", list, meta, err)
	}
	if list, _, err := ns.PrefixList("te", nil); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	woken := make(chan uint64)
	go func() {
		_, meta, err := ns.List(&api.QueryOptions{WaitIndex: updated.LastIndex, WaitTime: patience})
		if err != nil {
			t.Error(err)
		}
		woken <- meta.LastIndex
	}()
	if _, err := ns.Delete("team-a", nil); err != nil {
		t.Error(err)
	}
	if index := <-woken; index <= updated.LastIndex {
		t.Errorf("woken at index %d", index)
	}
	_, _, err = ns.Info("team-a", nil)
	refused(t, err, 404, "Namespace not found")
	_, err = ns.Delete("default", nil)
	refused(t, err, 500, "can not delete default namespace")
	_, err = ns.Delete("none", nil)
	refused(t, err, 500, "namespace not found")
}

func TestBadNamespaces(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	for name, text := range map[string]string{
		"": `invalid name "". Must match regex`, "*": `invalid name "*"`, "a/b": `invalid name "a/b"`, "a b": "invalid name", "a_b": "invalid name",
		"\x1b[2J": `invalid name "\x1b[2J"`, strings.Repeat("a", 129): "invalid name", "a\nb": `invalid name "a\nb"`,
	} {
		body, _ := json.Marshal(api.Namespace{Name: name})
		f.ask("PUT", "/v1/namespace", string(body), 500, text)
	}
	for body, text := range map[string]string{
		`{"Name":"a","Description":"` + strings.Repeat("x", 257) + `"}`: "description longer than 256",
		`{"Name":"a","Quota":"q"}`:                                      `namespace "a" using non-existent quota "q"`,
		`{"Name":"a","NodePoolConfiguration":{"Default":"x"}}`:          "Node Pools Governance is unlicensed.",
		`{"Name":"a","VaultConfiguration":{"Default":"x"}}`:             "Multi-Cluster Vault is unlicensed.",
		`{"Name":"a","ConsulConfiguration":{"Default":"x"}}`:            "Multi-Cluster Consul is unlicensed.",
	} {
		f.ask("POST", "/v1/namespace", body, 500, text)
	}
	f.ask("PUT", "/v1/namespace", `{"Name":"a","Description":"`+strings.Repeat("x", 256)+`"}`, 200, "")
	f.ask("PUT", "/v1/namespace", `{"Name":"`+strings.Repeat("a", 128)+`"}`, 200, "")
	f.ask("PUT", "/v1/namespace/x", `{"Name":"y"}`, 400, "Namespace name does not match request path")
	f.ask("PUT", "/v1/namespace", ``, 400, "Request body is empty")
	f.ask("PUT", "/v1/namespace", `{"Name":"a","Meta":{"k":"`+strings.Repeat("x", 70<<10)+`"}}`, 400, "too large")
	f.ask("GET", "/v1/namespace/%2E%2E%2Fa", ``, 404, "Namespace not found")
	f.ask("DELETE", "/v1/namespaces", ``, http.StatusMethodNotAllowed, "Invalid method")
}

func TestNamespaceInUse(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	if _, err := f.client.Namespaces().Register(&api.Namespace{Name: "busy"}, nil); err != nil {
		t.Fatal(err)
	}
	busy := &api.WriteOptions{Namespace: "busy"}
	if _, _, err := f.client.Variables().Create(&api.Variable{Namespace: "busy", Path: "p", Items: api.VariableItems{"k": "v"}}, busy); err != nil {
		t.Fatal(err)
	}
	volume, _, err := f.client.HostVolumes().Create(&api.HostVolumeCreateRequest{Volume: &api.HostVolume{Name: "v", PluginID: "mkdir", Namespace: "busy"}}, busy)
	if err != nil {
		t.Fatal(err)
	}
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.Namespace = new("busy")
	if _, _, err := f.client.Jobs().Register(job, busy); err != nil {
		t.Fatal(err)
	}
	f.running("t")
	_, err = f.client.Namespaces().Delete("busy", nil)
	refused(t, err, 500, "3 errors occurred:\n\t* namespace \"busy\" has non-terminal jobs in regions: [global]\n")
	if _, _, err := f.client.Jobs().Deregister("job", false, busy); err != nil {
		t.Fatal(err)
	}
	f.dead("/v1/job/job?namespace=busy")
	_, err = f.client.Namespaces().Delete("busy", nil)
	refused(t, err, 500, "2 errors occurred:")
	refused(t, err, 500, `namespace "busy" has volumes associated with it in regions: [global]`)
	if _, err := f.client.Variables().Delete("p", busy); err != nil {
		t.Error(err)
	}
	if _, _, err := f.client.HostVolumes().Delete(&api.HostVolumeDeleteRequest{ID: volume.Volume.ID}, busy); err != nil {
		t.Error(err)
	}
	if _, err := f.client.Namespaces().Delete("busy", nil); err != nil {
		t.Error(err)
	}
}

// A namespace takes only jobs with the drivers and the networks that it allows.
func TestCapabilitiesOfANamespace(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	for _, c := range []struct {
		can  api.NamespaceCapabilities
		mode string // of the network
		want string
	}{
		{api.NamespaceCapabilities{}, "bridge", ""},
		{api.NamespaceCapabilities{EnabledTaskDrivers: []string{"raw_exec", "mock_driver"}, EnabledNetworkModes: []string{"host"}}, "", ""},
		{api.NamespaceCapabilities{EnabledTaskDrivers: []string{"raw_exec"}}, "", `used task driver "mock_driver" is not allowed in namespace "limited"`},
		{api.NamespaceCapabilities{DisabledTaskDrivers: []string{"mock_driver"}}, "", `used task driver "mock_driver" is not allowed in namespace "limited"`},
		{api.NamespaceCapabilities{DisabledNetworkModes: []string{"bridge"}}, "host", ""},
		{api.NamespaceCapabilities{DisabledNetworkModes: []string{"bridge"}}, "bridge", `used group network mode "bridge" is not allowed in namespace "limited"`},
		{api.NamespaceCapabilities{EnabledNetworkModes: []string{"bridge"}}, "", `used group network mode "host" is not allowed in namespace "limited"`},
	} {
		if _, err := f.client.Namespaces().Register(&api.Namespace{Name: "limited", Capabilities: &c.can}, nil); err != nil {
			t.Fatal(err)
		}
		job := newJob("job", "service", newTask("t", "run_for", "1h"))
		job.Namespace, job.TaskGroups[0].Networks = new("limited"), []*api.NetworkResource{{Mode: c.mode}}
		_, _, err := f.client.Jobs().Plan(job, false, &api.WriteOptions{Namespace: "limited"})
		if c.want == "" && err != nil {
			t.Errorf("%+v: %v", c, err)
		} else if c.want != "" {
			refused(t, err, 500, c.want)
		}
	}
}

// The number of objects is limited.
func TestManyNamespaces(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	kept := f.engine.Registry().Namespaces
	for i := range 9999 {
		if _, err := kept.Put(fmt.Sprintf("n%05d", i), &api.Namespace{Name: fmt.Sprintf("n%05d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	f.ask("PUT", "/v1/namespace", `{"Name":"more"}`, 500, "there are 10000 objects of this kind already: delete some first")
	f.ask("PUT", "/v1/namespace", `{"Name":"n00001"}`, 200, "")
	list, meta, err := f.client.Namespaces().List(&api.QueryOptions{PerPage: 3, Prefix: "n000"})
	if err != nil || len(list) != 3 || list[0].Name != "n00002" || meta.NextToken != "n00003" {
		t.Errorf("%v, %+v, %v", list, meta, err)
	}
}

func TestNodePools(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "service", newTask("t", "run_for", "1h")))
	pools := f.client.NodePools()
	want := &api.NodePool{Name: "gpu_1", Description: "d", Meta: map[string]string{"a": "b"}}
	if _, err := pools.Register(want, nil); err != nil {
		t.Fatal(err)
	}
	got, meta, err := pools.Info("gpu_1", nil)
	if err != nil || got.CreateIndex != meta.LastIndex || got.Description != "d" || got.Meta["a"] != "b" || got.NodeIdentityTTL.Hours() != 24 {
		t.Errorf("%+v, %v", got, err)
	}
	list, _, err := pools.List(nil)
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"all", "default", "gpu_1"}, names); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for pool, want := range map[string]int{"default": 1, "all": 0, "gpu_1": 0, "none": 0} {
		if jobs, _, err := pools.ListJobs(pool, nil); err != nil || len(jobs) != want {
			t.Errorf("jobs of %s: %v, %v", pool, jobs, err)
		}
	}
	for pool, want := range map[string]int{"default": 1, "all": 1, "gpu_1": 0, "none": 0} {
		if nodes, _, err := pools.ListNodes(pool, nil); err != nil || len(nodes) != want {
			t.Errorf("nodes of %s: %v, %v", pool, nodes, err)
		}
	}
	if _, err := pools.Delete("gpu_1", nil); err != nil {
		t.Error(err)
	}
	_, _, err = pools.Info("gpu_1", nil)
	refused(t, err, 404, "node pool not found")
	for name, text := range map[string]string{
		"all": `deleting node pool "all" is not allowed`, "default": `node pool "default" has nodes in regions: [global]`, "none": "node pool none not found",
	} {
		_, err := pools.Delete(name, nil)
		refused(t, err, 500, text)
	}
	f.ask("DELETE", "/v1/node/pool/default", "", 500, `2 errors occurred:`+"\n\t"+`* node pool "default" has non-terminal jobs in regions: [global]`)
	f.ask("PUT", "/v1/node/pools", `{"Name":"a","Description":"`+strings.Repeat("x", 256)+`"}`, 200, "")
	f.ask("PUT", "/v1/node/pools", `{"Name":"`+strings.Repeat("x", 128)+`"}`, 200, "")
	f.ask("PUT", "/v1/node/pools", `{"Name":"a","Description":"`+strings.Repeat("x", 257)+`"}`, 400, "invalid node pool \"a\": 1 error occurred:\n\t* description longer than 256")
	f.ask("PUT", "/v1/node/pools", `{`, 400, "unexpected EOF")
	f.ask("PUT", "/v1/node/pools", `{"Name":"all"}`, 400, `modifying node pool "all" is not allowed`)
	f.ask("PUT", "/v1/node/pools", `{"Name":"a/b","Description":"`+strings.Repeat("x", 300)+`"}`, 400, "2 errors occurred:")
	f.ask("PUT", "/v1/node/pools", `{"Name":"a","SchedulerConfiguration":{}}`, 500, `Feature "Node Pools Governance" is unlicensed`)
	f.ask("PUT", "/v1/node/pool/a", `{"Name":"b"}`, 400, "Node pool name does not match request path")
	f.ask("GET", "/v1/node/pool/default/nodes?prefix=a", ``, 400, "prefix argument not allowed")
	f.ask("GET", "/v1/node/pool/a%2Fb", ``, 404, "node pool not found")
}
