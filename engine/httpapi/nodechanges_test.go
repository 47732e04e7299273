package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
)

func TestNodeMeta(t *testing.T) {
	t.Parallel()
	f := serveWith(t, func(cfg *httpapi.Config) { cfg.Node.Meta = map[string]string{"static": "1", "other": "2"} })
	meta := f.client.Nodes().Meta()
	if _, err := meta.Apply(&api.NodeMetaApplyRequest{Meta: map[string]*string{"before": new("1")}}, nil); err != nil {
		t.Fatal(err)
	}
	kept := f.engine.Registry().Nodes.Get(nodeID)
	got, err := meta.Apply(&api.NodeMetaApplyRequest{Meta: map[string]*string{"foo.bar": new("baz"), "static": nil, "none": nil, "before": nil}}, nil)
	want := &api.NodeMetaResponse{
		Meta:    map[string]string{"foo.bar": "baz", "other": "2"},
		Dynamic: map[string]*string{"foo.bar": new("baz"), "static": nil},
		Static:  map[string]string{"static": "1", "other": "2"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := meta.Read(nodeID, nil); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%+v, %v", got, err)
	}
	node, query, err := f.client.Nodes().Info(nodeID, nil)
	if diff := cmp.Diff(want.Meta, node.Meta); err != nil || diff != "" || node.ModifyIndex != query.LastIndex {
		t.Errorf("the node has index %d, want %d, %v\n%s", node.ModifyIndex, query.LastIndex, err, diff)
	}
	if got, err := meta.Apply(&api.NodeMetaApplyRequest{Meta: map[string]*string{"foo.bar": nil, "static": new("3")}}, nil); err != nil || len(got.Dynamic) != 1 || got.Meta["static"] != "3" {
		t.Errorf("%+v, %v", got, err)
	}
	if len(kept.Meta) != 1 || kept.Meta["before"] == nil {
		t.Errorf("what others read was changed: %v", kept.Meta)
	}
	f.ask("POST", "/v1/client/metadata", `{"NodeID":"other","Meta":{"a":"b"}}`, 404, "Unknown node other")
	f.ask("POST", "/v1/client/metadata?node_id=other", `{"Meta":{"a":"b"}}`, 404, "Unknown node other")
	many := map[string]*string{}
	for i := range 999 { // besides static
		many[fmt.Sprint("n", i)] = new("")
	}
	if _, err := meta.Apply(&api.NodeMetaApplyRequest{Meta: many}, nil); err != nil {
		t.Error(err)
	}
	f.ask("POST", "/v1/client/metadata", `{"Meta":{"more":"x"}}`, 400, "the node would have 1001 names of metadata; 1000 are the most")
	for body, text := range map[string]string{
		`{}`: "missing required Meta object", `{"Meta":{"":"x"}}`: "metadata keys must not be empty", `{"Meta":{"a b":"x"}}`: `"a b" is invalid`,
		`{"Meta":{"a..b":"x"}}`: `"a..b" is invalid`, `{"Meta":{"1":"x"}}`: `"1" is invalid`, `{"Meta":{"a":"` + strings.Repeat("x", 70<<10) + `"}}`: "too large",
	} {
		f.ask("POST", "/v1/client/metadata", body, 400, text)
	}
	f.ask("GET", "/v1/client/metadata?node_id=other", "", 404, "Unknown node other")
	f.ask("DELETE", "/v1/client/metadata", "", 405, "Invalid method")
}

func TestEligibility(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	before, query, err := f.client.Nodes().Info(nodeID, nil)
	if err != nil || before.SchedulingEligibility != "eligible" {
		t.Fatalf("%+v, %v", before, err)
	}
	woken := make(chan string)
	go func() {
		node, _, err := f.client.Nodes().Info(nodeID, &api.QueryOptions{WaitIndex: query.LastIndex, WaitTime: patience})
		if err != nil {
			t.Error(err)
		}
		woken <- node.SchedulingEligibility
	}()
	changed, err := f.client.Nodes().ToggleEligibility(nodeID, false, nil)
	if err != nil || changed.LastIndex <= query.LastIndex {
		t.Errorf("%+v, %v", changed, err)
	}
	if got := <-woken; got != "ineligible" {
		t.Errorf("woken while it is %s", got)
	}
	if list, _, err := f.client.Nodes().List(nil); err != nil || list[0].SchedulingEligibility != "ineligible" || list[0].ModifyIndex != changed.LastIndex {
		t.Errorf("%+v, %v", list[0], err)
	}
	if again, err := f.client.Nodes().ToggleEligibility(nodeID, false, nil); err != nil || again.LastIndex != 0 {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := f.client.Nodes().ToggleEligibility(nodeID, true, nil); err != nil {
		t.Error(err)
	}
	after, _, err := f.client.Nodes().Info(nodeID, nil)
	if err != nil || after.SchedulingEligibility != "eligible" || len(after.Events) != 3 || after.Events[2].Message != "Node marked as eligible for scheduling" {
		t.Errorf("%+v, %v", after, err)
	}
	f.ask("PUT", "/v1/node/"+nodeID+"/eligibility", `{"Eligibility":"odd"}`, 500, `invalid scheduling eligibility "odd"`)
	f.ask("PUT", "/v1/node/other/eligibility", `{"Eligibility":"eligible"}`, 500, "node not found")
}
