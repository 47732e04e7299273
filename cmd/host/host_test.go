package host

import (
	"context"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/leaf/datadir"
	"taskrun/jobspec/taskenv"
)

func TestHostVolumesOfAnEngine(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	e := engine.New(engine.Config{DataDir: dataDir, Node: &taskenv.Node{}})
	defer func() { _ = e.Close(context.Background()) }()
	readOnly := []*api.HostVolumeCapability{{AccessMode: api.HostVolumeAccessModeSingleNodeReader}}
	for id, v := range map[string]*api.HostVolume{
		"1": {Name: "created", HostPath: datadir.VolumeDir(dataDir, "created")},
		"2": {Name: "registered", HostPath: "/srv/r", RequestedCapabilities: readOnly},
		"3": {Name: "stubbed", HostPath: "/srv/s"},
	} {
		if _, err := e.Registry().HostVolumes.Put(id, v); err != nil {
			t.Fatal(err)
		}
	}
	stubs := Volumes(func(source string) (string, bool, bool) { return "/stub", false, source == "stubbed" })
	running := func() *engine.Engine { return e }
	for source, want := range map[string]struct {
		path     string
		readOnly bool
		known    bool
	}{
		"created":    {"", false, true}, // the hook makes it in the data directory
		"registered": {"/srv/r", true, true},
		"stubbed":    {"/stub", false, true},
		"none":       {},
	} {
		path, readOnly, ok := stubs.OrRegistered(running, dataDir)(source)
		if path != want.path || readOnly != want.readOnly || ok != (want.path != "") {
			t.Errorf("%s is at %q, %v, %v", source, path, readOnly, ok)
		}
		if known := stubs.Known(running)(source); known != want.known {
			t.Errorf("%s is known: %v", source, known)
		}
	}
}
