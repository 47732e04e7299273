package volumes

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/datadir"
	"taskrun/jobspec/placement"
)

// mkdir is the only plugin.
const mkdir = "mkdir"

// maxBody limits a volume in its wire format, in bytes.
const maxBody = 64 << 10

// response is the response to a change.
type response struct {
	Volume   *api.HostVolume
	Warnings string
	Index    uint64
}

// Create answers PUT /v1/volume/host/create: it makes a folder in the data
// directory.
func (h *Handler) Create(r *rest.Request) error {
	return h.change(r, func(v, was *api.HostVolume) error {
		if was != nil {
			if v.PluginID == "" {
				v.PluginID = was.PluginID
			}
			v.CapacityBytes, v.HostPath = was.CapacityBytes, was.HostPath
		} else {
			v.CapacityBytes, v.HostPath = 0, datadir.VolumeDir(h.dataDir, v.Name)
		}
		if err := h.place(v, was); err != nil {
			return fmt.Errorf("could not place volume %q: %w", v.Name, err)
		}
		attributes, err := mkdirAttributes(v.Parameters)
		if err != nil || was != nil && was.HostPath != datadir.VolumeDir(h.dataDir, v.Name) {
			return err
		}
		return datadir.CreateVolume(h.dataDir, v.Name, attributes)
	})
}

// place decides whether this machine can have a volume.
func (h *Handler) place(v, was *api.HostVolume) error {
	fits := v.PluginID == mkdir && (v.NodePool == "" || v.NodePool == h.run.Machine.Pool || v.NodePool == api.NodePoolAll) &&
		len(placement.Check(&api.Job{Constraints: v.Constraints}, h.run.Machine)) == 0
	exists := was == nil && h.run.Engine.Registry().HostVolume(v.Name) != nil
	switch {
	case v.NodeID != "" && !fits:
		return fmt.Errorf("node %s is not feasible for volume", v.NodeID)
	case exists:
		return errors.New("no node meets constraints: 1 nodes had existing volume, 0 nodes filtered by node pool governance, 0 nodes were infeasible")
	case !fits:
		return errors.New("no node meets constraints: 0 nodes had existing volume, 0 nodes filtered by node pool governance, 1 nodes were infeasible")
	}
	v.NodeID, v.NodePool = h.run.Machine.ID, h.run.Machine.Pool
	return nil
}

// Register answers PUT /v1/volume/host/register: the folder of the volume exists
// already, and belongs to the user.
func (h *Handler) Register(r *rest.Request) error {
	return h.change(r, func(v, was *api.HostVolume) error {
		switch {
		case v.NodeID == "":
			return errors.New("cannot register volume: node ID is required")
		case v.HostPath == "":
			return errors.New("cannot register volume: host path is required")
		case was == nil && h.run.Engine.Registry().HostVolume(v.Name) != nil:
			return fmt.Errorf("HostVolume.Register error: a volume with the name %q already exists on this node", v.Name)
		}
		info, err := os.Stat(v.HostPath)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%q is not a directory", v.HostPath)
		}
		if err != nil {
			return fmt.Errorf("HostVolume.Register error: could not verify host path for %q: %w", v.Name, err)
		}
		v.NodePool = h.run.Machine.Pool
		return nil
	})
}

// change creates or updates the volume in a request. do completes the volume,
// and prepares its folder; was is nil for a new one.
func (h *Handler) change(r *rest.Request, do func(v, was *api.HostVolume) error) error {
	var o struct{ Volume *api.HostVolume }
	if err := r.DecodeUpTo(maxBody, &o); err != nil {
		return err
	}
	v := o.Volume
	if v == nil {
		return errors.New("missing volume definition")
	}
	if v.Namespace == "" {
		v.Namespace = r.Namespace()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	was, err := h.check(v)
	if err != nil {
		return err
	}
	v.CreateTime, v.ModifyTime = time.Now().UnixNano(), time.Now().UnixNano()
	v.State, v.Allocations = api.HostVolumeStateReady, nil
	if was != nil {
		v.CreateTime, v.NodeID, v.Constraints = was.CreateTime, was.NodeID, was.Constraints
	} else {
		v.ID = chance.Source{}.ID()
	}
	if len(v.RequestedCapabilities) == 0 {
		v.RequestedCapabilities = []*api.HostVolumeCapability{{
			AttachmentMode: api.HostVolumeAttachmentModeFilesystem, AccessMode: api.HostVolumeAccessModeSingleNodeWriter,
		}}
	}
	if err := do(v, was); err != nil {
		return err
	}
	index, err := h.run.Engine.Registry().HostVolumes.Put(v.ID, v)
	if err != nil {
		return err
	}
	r.SetIndex(index)
	return r.JSON(http.StatusOK, response{Volume: v, Index: index})
}

// Delete answers DELETE /v1/volume/host/:id. A folder that Create made is
// removed, with everything in it.
func (h *Handler) Delete(r *rest.Request) error {
	if _, err := r.Flag("force"); err != nil {
		return rest.Fail(http.StatusBadRequest, "invalid force value")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.find(r)
	if v == nil {
		return fmt.Errorf("no such volume: %s", r.ID)
	}
	if used := h.claims(v); len(used) > 0 {
		return fmt.Errorf("volume %s in use by allocations: %v", v.ID, used)
	}
	if v.HostPath == datadir.VolumeDir(h.dataDir, v.Name) {
		if err := datadir.RemoveVolume(h.dataDir, v.Name); err != nil {
			return err // the volume stays known, so that clients can try again
		}
	}
	index, err := h.run.Engine.Registry().HostVolumes.Delete(v.ID)
	if err != nil {
		return err
	}
	r.SetIndex(index)
	return r.JSON(http.StatusOK, struct{ Index uint64 }{index})
}

// claims returns the IDs of the allocations that use a volume.
func (h *Handler) claims(v *api.HostVolume) (ids []string) {
	for _, a := range h.users(v) {
		ids = append(ids, a.ID)
	}
	return ids
}

// check returns the volume that an order changes, or nil, and an error if it is
// not valid.
func (h *Handler) check(v *api.HostVolume) (was *api.HostVolume, err error) {
	registry := h.run.Engine.Registry()
	wrong := faultsOf(v)
	wrong.add(registry.Namespaces.Get(v.Namespace) == nil && h.run.Resident, "no such namespace %q", v.Namespace)
	switch {
	case len(wrong) == 1:
		return nil, fmt.Errorf("volume validation failed: %s", wrong[0])
	case len(wrong) > 1:
		return nil, fmt.Errorf("volume validation failed: %s", rest.Several(wrong))
	case v.ID != "":
		if was = registry.HostVolumes.Get(v.ID); was == nil || was.Namespace != v.Namespace {
			return nil, fmt.Errorf("cannot update volume %q: volume does not exist", v.ID)
		}
		if wrong := h.updateFaults(v, was); len(wrong) > 0 {
			return nil, fmt.Errorf("validating volume %q update failed: %s", v.ID, rest.Several(wrong))
		}
	}
	state := ""
	switch {
	case v.NodeID != "" && v.NodeID != h.run.Machine.ID:
		state = fmt.Sprintf("node %q does not exist", v.NodeID)
	case v.NodePool != "" && registry.Pools.Get(v.NodePool) == nil:
		state = fmt.Sprintf("node pool %q does not exist", v.NodePool)
	case v.NodeID != "" && v.NodePool != "" && v.NodePool != h.run.Machine.Pool:
		state = fmt.Sprintf("node ID %q is not in pool %q", v.NodeID, v.NodePool)
	}
	if state != "" {
		return nil, fmt.Errorf("validating volume %q against state failed: %s", v.Name, state)
	}
	return was, nil
}

// maxName limits the name of a volume, in bytes: it names a folder.
const maxName = 128

// faults are texts about what is wrong.
type faults []string

// add adds a text if there is that fault.
func (f *faults) add(there bool, format string, args ...any) {
	if there {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

// faultsOf returns what is wrong with a volume.
func faultsOf(v *api.HostVolume) (wrong faults) {
	odd := strings.ContainsFunc(v.Name, func(c rune) bool { return c < ' ' || c == 0x7f })
	wrong.add(v.Name == "", "missing name")
	wrong.add(len(v.Name) > maxName || odd, "invalid name %q: a name has at most %d bytes and no control characters", v.Name, maxName)
	wrong.add(v.RequestedCapacityMaxBytes < v.RequestedCapacityMinBytes,
		"capacity_max (%d) must be larger than capacity_min (%d)", v.RequestedCapacityMaxBytes, v.RequestedCapacityMinBytes)
	for _, c := range v.RequestedCapabilities {
		switch {
		case c == nil:
			wrong.add(true, "a capability is null")
		case !slices.Contains([]api.HostVolumeAttachmentMode{api.HostVolumeAttachmentModeFilesystem, api.HostVolumeAttachmentModeBlockDevice}, c.AttachmentMode):
			wrong.add(true, "invalid attachment mode: %q", c.AttachmentMode)
		default:
			wrong.add(!slices.Contains(accessModes, c.AccessMode), "invalid access mode: %q", c.AccessMode)
		}
	}
	wrong.add(slices.Contains(v.Constraints, nil), "a constraint is null")
	return wrong
}

var accessModes = []api.HostVolumeAccessMode{
	api.HostVolumeAccessModeSingleNodeReader, api.HostVolumeAccessModeSingleNodeWriter,
	api.HostVolumeAccessModeSingleNodeSingleWriter, api.HostVolumeAccessModeSingleNodeMultiWriter,
}

// updateFaults returns why a volume cannot be updated.
func (h *Handler) updateFaults(v, was *api.HostVolume) (wrong faults) {
	used := h.claims(was)
	wrong.add(len(used) > 0, "cannot update a volume in use: claimed by allocs (%s)", strings.Join(used, ", "))
	wrong.add(v.Name != was.Name, "name cannot be updated")
	wrong.add(v.NodeID != "" && v.NodeID != was.NodeID, "node ID cannot be updated")
	wrong.add(v.NodePool != "" && v.NodePool != was.NodePool, "node pool cannot be updated")
	wrong.add(v.RequestedCapacityMaxBytes > 0 && v.RequestedCapacityMaxBytes < was.CapacityBytes,
		"capacity_max (%d) cannot be less than existing provisioned capacity (%d)", v.RequestedCapacityMaxBytes, was.CapacityBytes)
	return wrong
}
