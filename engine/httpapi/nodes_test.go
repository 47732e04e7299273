package httpapi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
)

func TestNodeShowsTheHostVolumesOfItsConfiguration(t *testing.T) {
	t.Parallel()
	want := map[string]*api.HostVolumeInfo{"data": {Path: "/srv/data", ReadOnly: true}}
	f := serveWith(t, func(cfg *httpapi.Config) { cfg.HostVolumes = want })
	node, _, err := f.client.Nodes().Info(nodeID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, node.HostVolumes); diff != "" {
		t.Errorf("host volumes (-want +got):\n%s", diff)
	}
}

func TestNodeShowsItsDrivers(t *testing.T) {
	t.Parallel()
	f := serve(t)
	node, _, err := f.client.Nodes().Info(nodeID, nil)
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := f.client.Nodes().List(nil)
	if err != nil || len(nodes) != 1 {
		t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	for _, name := range []string{"mock_driver", "raw_exec"} { // the node has both
		for _, d := range []any{node.Drivers[name], nodes[0].Drivers[name]} {
			if d == nil {
				t.Errorf("there is no driver %s", name)
			}
		}
	}
	d := node.Drivers["mock_driver"]
	if !d.Detected || !d.Healthy || d.HealthDescription != "Healthy" || d.UpdateTime.IsZero() {
		t.Errorf("the driver is %+v", d)
	}
	if diff := cmp.Diff(map[string]string{"driver.mock_driver": "true"}, d.Attributes); diff != "" {
		t.Errorf("its attributes (-want +got):\n%s", diff)
	}
	if got := node.Attributes["driver.mock_driver"]; got != "1" {
		t.Errorf("the node's attribute is %q", got)
	}
}
