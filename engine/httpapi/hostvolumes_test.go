package httpapi_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/hashicorp/nomad/api/contexts"

	"taskrun/engine/httpapi"
)

// withVolume returns a job whose only task runs in a group with a host volume.
func withVolume(source string) *api.Job {
	job := newJob("job", "service", newTask("t", "run_for", "1h"))
	job.TaskGroups[0].Volumes = map[string]*api.VolumeRequest{"v": {Name: "v", Type: "host", Source: source}}
	return job
}

func TestHostVolumes(t *testing.T) {
	t.Parallel()
	dataDir := ""
	f := serveWith(t, func(cfg *httpapi.Config) { dataDir = t.TempDir(); cfg.DataDir = dataDir }, withVolume("cache/1"))
	alloc := f.running("t")
	volumes := f.client.HostVolumes()
	created, meta, err := volumes.Create(&api.HostVolumeCreateRequest{Volume: &api.HostVolume{
		Name: "cache/1", PluginID: "mkdir", Parameters: map[string]string{"mode": "0750"}, HostPath: "/etc", CreateIndex: 99,
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := created.Volume
	if v.State != "ready" || v.NodeID != nodeID || v.NodePool != "default" || v.Namespace != "default" || len(v.RequestedCapabilities) != 1 || v.CreateIndex != meta.LastIndex {
		t.Errorf("created %+v at %d", v, meta.LastIndex)
	}
	if info, err := os.Stat(v.HostPath); err != nil || info.Mode().Perm() != 0o750 || !strings.HasPrefix(v.HostPath, dataDir+"/") {
		t.Errorf("the folder %q: %v, %v", v.HostPath, info, err)
	}
	got, _, err := volumes.Get(v.ID, nil)
	if err != nil || len(got.Allocations) != 1 || got.Allocations[0].ID != alloc.ID {
		t.Errorf("%+v, %v", got, err)
	}
	node, _, err := f.client.Nodes().Info(nodeID, nil)
	if err != nil || node.HostVolumes["cache/1"] == nil || node.HostVolumes["cache/1"].Path != v.HostPath {
		t.Errorf("volumes of the node: %+v, %v", node.HostVolumes, err)
	}
	for text, want := range map[string]int{v.ID[:6]: 1, "cache": 0} { // as in Nomad, not by name
		if found, _, err := f.client.Search().FuzzySearch(text, contexts.HostVolumes, nil); err != nil || len(found.Matches[contexts.HostVolumes]) != want {
			t.Errorf("%s finds %+v, %v", text, found, err)
		}
	}
	for request, want := range map[*api.HostVolumeListRequest]int{{}: 1, {NodeID: nodeID}: 1, {NodeID: "x"}: 0, {NodePool: "default"}: 1, {NodePool: "x"}: 0} {
		if list, _, err := volumes.List(request, nil); err != nil || len(list) != want {
			t.Errorf("%+v: %v, %v", request, list, err)
		}
	}
	_, _, err = volumes.Create(&api.HostVolumeCreateRequest{Volume: &api.HostVolume{Name: "cache/1", PluginID: "mkdir"}}, nil)
	refused(t, err, 500, `could not place volume "cache/1": no node meets constraints: 1 nodes had existing volume`)
	_, _, err = volumes.Delete(&api.HostVolumeDeleteRequest{ID: v.ID}, nil)
	refused(t, err, 500, "in use by allocations: ["+alloc.ID+"]")
	if _, _, err := f.client.Jobs().Deregister("job", false, nil); err != nil {
		t.Fatal(err)
	}
	f.in("t", "dead")
	follow(f, "/v1/volume/host/"+v.ID, func(v *api.HostVolume) bool { return len(v.Allocations) == 0 })
	if _, _, err := volumes.Delete(&api.HostVolumeDeleteRequest{ID: v.ID}, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(v.HostPath); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
	_, _, err = volumes.Get(v.ID, nil)
	refused(t, err, 404, "volume not found")
	_, _, err = volumes.Delete(&api.HostVolumeDeleteRequest{ID: v.ID}, nil)
	refused(t, err, 500, "no such volume: "+v.ID)
}

func TestRegisteredHostVolume(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	dir := t.TempDir()
	volumes := f.client.HostVolumes()
	register := func(v *api.HostVolume) (*api.HostVolumeRegisterResponse, error) {
		response, _, err := volumes.Register(&api.HostVolumeRegisterRequest{Volume: v}, nil)
		return response, err
	}
	registered, err := register(&api.HostVolume{Name: "a", NodeID: nodeID, HostPath: dir})
	if err != nil {
		t.Fatal(err)
	}
	v := registered.Volume
	update := *v
	update.RequestedCapacityMaxBytes = 1 << 30
	updated, err := register(&update)
	if err != nil || updated.Volume.ID != v.ID || updated.Volume.CreateIndex != v.CreateIndex || updated.Volume.ModifyIndex <= v.ModifyIndex {
		t.Errorf("%+v, %v", updated, err)
	}
	_, err = register(&api.HostVolume{Name: "b", HostPath: dir})
	refused(t, err, 500, "node ID is required")
	_, err = register(&api.HostVolume{Name: "b", NodeID: nodeID})
	refused(t, err, 500, "host path is required")
	_, err = register(&api.HostVolume{Name: "b", NodeID: nodeID, HostPath: filepath.Join(dir, "none")})
	refused(t, err, 500, `could not verify host path for "b": stat`)
	_, err = register(&api.HostVolume{Name: "a", NodeID: nodeID, HostPath: dir})
	refused(t, err, 500, "already exists")
	if _, _, err := volumes.Delete(&api.HostVolumeDeleteRequest{ID: v.ID}, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the folder of somebody else: %v", err)
	}
}

// An update keeps what cannot change, and everything else is refused at once.
func TestUpdatedHostVolumes(t *testing.T) {
	t.Parallel()
	f, dir := serveResident(t), t.TempDir()
	volumes := f.client.HostVolumes()
	create := func(v api.HostVolume) (*api.HostVolume, error) {
		created, _, err := volumes.Create(&api.HostVolumeCreateRequest{Volume: &v}, nil)
		if err != nil {
			return nil, err
		}
		return created.Volume, nil
	}
	first, err := create(api.HostVolume{
		Name: "a", PluginID: "mkdir", NodePool: "all", CapacityBytes: 7, RequestedCapacityMinBytes: 5, RequestedCapacityMaxBytes: 5,
		RequestedCapabilities: []*api.HostVolumeCapability{{AttachmentMode: "block-device", AccessMode: "single-node-reader-only"}},
	})
	if err != nil || first.CapacityBytes != 0 || first.NodePool != "default" || first.RequestedCapabilities[0].AttachmentMode != "block-device" {
		t.Fatalf("created %+v, %v", first, err)
	}
	for _, v := range []api.HostVolume{
		{Name: "a", ID: first.ID, NodePool: "default"}, {Name: "a", ID: first.ID, NodeID: nodeID, HostPath: "/etc", RequestedCapacityMaxBytes: 1, CapacityBytes: 7},
	} {
		updated, err := create(v)
		if err != nil || updated.PluginID != "mkdir" || updated.HostPath != first.HostPath || updated.CapacityBytes != 0 || updated.CreateTime != first.CreateTime ||
			updated.ModifyTime <= first.ModifyTime || updated.CreateIndex != first.CreateIndex || updated.NodeID != nodeID || updated.State != "ready" {
			t.Errorf("updated to %+v, %v", updated, err)
		}
	}
	foreign, _, err := volumes.Register(&api.HostVolumeRegisterRequest{Volume: &api.HostVolume{Name: "c", NodeID: nodeID, HostPath: dir, CapacityBytes: 4 << 20}}, nil)
	if err != nil || foreign.Volume.NodePool != "default" {
		t.Fatalf("registered %+v, %v", foreign, err)
	}
	// Its folder is not taskrun's: no other one is made.
	if v, err := create(api.HostVolume{Name: "c", ID: foreign.Volume.ID, PluginID: "mkdir"}); err != nil || v.HostPath != dir || v.CapacityBytes != 4<<20 {
		t.Errorf("updated to %+v, %v", v, err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(first.HostPath), "c")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of another volume: %v", err)
	}
	change := func(wrong string) string { return "1 error occurred:\n\t* " + wrong }
	for _, c := range []struct {
		change api.HostVolume
		text   string
	}{
		{api.HostVolume{Name: "b", ID: first.ID}, change("name cannot be updated")},
		{api.HostVolume{Name: "a", ID: first.ID, NodeID: "x"}, change("node ID cannot be updated")},
		{api.HostVolume{Name: "a", ID: first.ID, NodePool: "x"}, change("node pool cannot be updated")},
		{api.HostVolume{Name: "c", ID: foreign.Volume.ID, RequestedCapacityMaxBytes: 4<<20 - 1}, change("capacity_max (4194303) cannot be less than existing provisioned capacity (4194304)")},
		{api.HostVolume{Name: "a", ID: first.ID, Namespace: "x"}, `no such namespace "x"`},
		{api.HostVolume{Name: "a", PluginID: "mkdir", NodeID: nodeID, Constraints: []*api.Constraint{{LTarget: "a", RTarget: "b", Operand: "="}}}, "node " + nodeID + " is not feasible for volume"},
		{api.HostVolume{Name: "b", PluginID: "mkdir", NodeID: nodeID, NodePool: "all"}, `validating volume "b" against state failed: node ID "` + nodeID + `" is not in pool "all"`},
		{api.HostVolume{Namespace: "x", RequestedCapabilities: []*api.HostVolumeCapability{{AttachmentMode: "file-system", AccessMode: "x"}}}, "3 errors occurred:\n\t* missing name\n\t* invalid access mode: \"x\"\n\t* no such namespace"},
	} {
		_, err := create(c.change)
		refused(t, err, 500, c.text)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = volumes.Register(&api.HostVolumeRegisterRequest{Volume: &api.HostVolume{Name: "d", NodeID: nodeID, HostPath: file}}, nil)
	refused(t, err, 500, `could not verify host path for "d": "`+file+`" is not a directory`)
	for _, parameter := range []string{"uid", "gid"} {
		_, err := create(api.HostVolume{Name: "e", PluginID: "mkdir", Parameters: map[string]string{parameter: "x"}})
		refused(t, err, 500, `HostVolume.Create error: invalid value for "`+parameter+`"`)
		own := map[string]int{"uid": os.Getuid(), "gid": os.Getgid()}[parameter]
		if _, err := create(api.HostVolume{Name: parameter, PluginID: "mkdir", Parameters: map[string]string{parameter: strconv.Itoa(own)}}); err != nil {
			t.Error(err)
		}
	}
	for query, want := range map[string]string{
		"": "a c gid uid", "&prefix=" + first.ID[:8]: "a", "&prefix=u": "uid", "&node_pool=default&node_id=" + nodeID: "a c gid uid",
		"&node_id=" + nodeID + "x": "", "&node_pool=x": "", "&namespace=x": "", "&namespace=*": "a c gid uid",
	} {
		var names []string
		for _, v := range get[[]*api.HostVolumeStub](f, "/v1/volumes?type=host"+query) {
			names = append(names, v.Name)
		}
		if slices.Sort(names); strings.Join(names, " ") != want {
			t.Errorf("%q lists %q, want %q", query, names, want)
		}
	}
}

// A volume is in use by the allocations of its namespace that ask for it, each
// of them with a volume of its own where the group says so.
func TestClaimsOfHostVolumes(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	if _, err := f.client.Namespaces().Register(&api.Namespace{Name: "other"}, nil); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, name := range []string{"data", "data[0]", "data[1]"} {
		created, _, err := f.client.HostVolumes().Create(&api.HostVolumeCreateRequest{Volume: &api.HostVolume{Name: name, PluginID: "mkdir"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = created.Volume.ID
	}
	job := withVolume("data")
	job.TaskGroups[0].Volumes["v"].PerAlloc = true
	elsewhere := withVolume("data")
	elsewhere.Namespace = new("other")
	for _, j := range []*api.Job{job, elsewhere} {
		if _, _, err := f.client.Jobs().Register(j, nil); err != nil {
			t.Fatal(err)
		}
		f.running("t")
	}
	for name, want := range map[string]int{"data": 0, "data[0]": 1, "data[1]": 0} {
		v := get[*api.HostVolume](f, "/v1/volume/host/"+ids[name])
		if len(v.Allocations) != want {
			t.Errorf("%s is in use by %+v", name, v.Allocations)
		}
		if want > 0 && (v.Allocations[0].JobType != "service" || v.Allocations[0].AllocatedResources != nil) {
			t.Errorf("the allocation is %+v", v.Allocations[0])
		}
		_, _, err := f.client.HostVolumes().Create(&api.HostVolumeCreateRequest{Volume: &api.HostVolume{ID: ids[name], Name: name}}, nil)
		if want > 0 {
			refused(t, err, 500, "cannot update a volume in use: claimed by allocs ("+v.Allocations[0].ID+")")
		} else if err != nil {
			t.Error(err)
		}
	}
	_, _, err := f.client.HostVolumes().Delete(&api.HostVolumeDeleteRequest{ID: ids["data"]}, &api.WriteOptions{Namespace: "other"})
	refused(t, err, 500, "no such volume: "+ids["data"])
}

func TestBadHostVolumes(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	const unknown = "01234567-0123-0123-0123-0123456789ab"
	for body, text := range map[string]string{
		`{}`: "missing volume definition", `{"Volume":{}}`: "volume validation failed: missing name",
		`{"Volume":{"Name":"a","PluginID":"odd"}}`:                                                               "1 nodes were infeasible",
		`{"Volume":{"Name":"a"}}`:                                                                                "1 nodes were infeasible",
		`{"Volume":{"Name":"a","PluginID":"mkdir","NodePool":"x"}}`:                                              `node pool "x" does not exist`,
		`{"Volume":{"Name":"a","PluginID":"mkdir","NodeID":"x"}}`:                                                `node "x" does not exist`,
		`{"Volume":{"Name":"a","PluginID":"mkdir","Namespace":"x"}}`:                                             `no such namespace "x"`,
		`{"Volume":{"Name":"a","PluginID":"mkdir","ID":"` + unknown + `"}}`:                                      "volume does not exist",
		`{"Volume":{"Name":"a","PluginID":"mkdir","Parameters":{"odd":"1"}}}`:                                    `unknown mkdir parameter: "odd"`,
		`{"Volume":{"Name":"a","PluginID":"mkdir","Parameters":{"mode":"9"}}}`:                                   `invalid value for "mode"`,
		`{"Volume":{"Name":"a","PluginID":"mkdir","RequestedCapacityMinBytes":5}}`:                               "capacity_max (0) must be larger than capacity_min (5)",
		`{"Volume":{"Name":"a","PluginID":"mkdir","RequestedCapabilities":[null]}}`:                              "a capability is null",
		`{"Volume":{"Name":"a","PluginID":"mkdir","RequestedCapabilities":[{"AttachmentMode":"x"}]}}`:            `invalid attachment mode: "x"`,
		`{"Volume":{"Name":"a","PluginID":"mkdir","Constraints":[null]}}`:                                        "a constraint is null",
		`{"Volume":{"Name":"a","PluginID":"mkdir","Constraints":[{"LTarget":"a","RTarget":"b","Operand":"="}]}}`: "1 nodes were infeasible",
		`{"Volume":{"Name":"a\u0000b","PluginID":"mkdir"}}`:                                                      "no control characters",
		`{"Volume":{"Name":"` + strings.Repeat("a", 129) + `","PluginID":"mkdir"}}`:                              "at most 128 bytes",
	} {
		f.ask("PUT", "/v1/volume/host/create", body, 500, text)
	}
	f.ask("PUT", "/v1/volume/host/create", `{"Volume":{"Name":"`+strings.Repeat("a", 70<<10)+`"}}`, 400, "too large")
	f.ask("PUT", "/v1/volume/host/create?namespace=x", `{"Volume":{"Name":"a","PluginID":"mkdir"}}`, 500, `no such namespace "x"`)
	f.ask("DELETE", "/v1/volume/host/x?force=odd", "", 400, "invalid force value")
	f.ask("GET", "/v1/volumes?type=odd", "", 404, "resource not found")
	for _, path := range []string{"/v1/volumes", "/v1/volumes?type=csi", "/v1/volumes?type=host", "/v1/plugins?type=csi", "/v1/volumes/claims"} {
		f.ask("GET", path, "", 200, "[]")
	}
	f.ask("PUT", "/v1/volume/host/create", `{"Volume":{"Name":"`+strings.Repeat("a", 128)+`","PluginID":"mkdir"}}`, 200, "")
	// A name that looks like a path stays below the data directory.
	response, _, err := f.client.HostVolumes().Create(&api.HostVolumeCreateRequest{Volume: &api.HostVolume{Name: "../../../x", PluginID: "mkdir"}}, nil)
	if err != nil || strings.Contains(response.Volume.HostPath, "..") && !strings.Contains(response.Volume.HostPath, "%2F") {
		t.Errorf("%+v, %v", response, err)
	}
}

// TestHostVolumeStaysIfItsFolderDoes deletes a volume whose folder cannot be
// removed at first.
func TestHostVolumeStaysIfItsFolderDoes(t *testing.T) {
	t.Parallel()
	dataDir := t.TempDir()
	f := serveWith(t, func(cfg *httpapi.Config) { cfg.DataDir = dataDir })
	volumes := f.client.HostVolumes()
	created, _, err := volumes.Create(&api.HostVolumeCreateRequest{Volume: &api.HostVolume{Name: "data", PluginID: "mkdir"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, away := filepath.Join(dataDir, "host_volumes"), filepath.Join(dataDir, "away")
	if err := errors.Join(os.Rename(all, away), os.WriteFile(all, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	order := &api.HostVolumeDeleteRequest{ID: created.Volume.ID}
	if _, _, err := volumes.Delete(order, nil); err == nil {
		t.Error("a volume was deleted whose folder stays")
	}
	if err := errors.Join(os.Remove(all), os.Rename(away, all)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := volumes.Delete(order, nil); err != nil {
		t.Errorf("another try: %v", err)
	}
	if _, err := os.Stat(created.Volume.HostPath); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
}
