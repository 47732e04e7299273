package validate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

const (
	volumeHost = "host"
	volumeCSI  = "csi"
)

func (g *group) volumes() {
	for _, name := range slices.Sorted(maps.Keys(g.tg.Volumes)) {
		v, at := orEmpty(g.tg.Volumes[name]), g.at.Label("volume", name)
		switch v.Type {
		case volumeHost:
			g.volume(v, at)
			g.hostVolume(v, at)
		case volumeCSI:
			g.volume(v, at)
			g.csiVolume(v, at)
		default:
			// Nomad drops such a volume before it validates the job.
			g.warn(at.Attr("type"), "volume has no effect", fmt.Sprintf("its type is %q; Nomad drops what is not host or csi", v.Type),
				orElse(didYouMean(v.Type, []string{volumeHost, volumeCSI}), `write type = "host" or "csi"`))
		}
	}
}

// hasVolume reports whether the group has a volume that Nomad does not drop.
func (g *group) hasVolume(name string) bool {
	v := g.tg.Volumes[name]
	return v != nil && (v.Type == volumeHost || v.Type == volumeCSI)
}

func (g *group) volume(v *api.VolumeRequest, at jobspec.Path) {
	if v.Source == "" {
		g.refuse(at, "volume has no source", "", `add source = "NAME"`)
	}
	if !v.PerAlloc {
		return
	}
	if g.kind == api.JobTypeSystem || g.kind == api.JobTypeSysbatch {
		g.refuse(at.Attr("per_alloc"), "a "+g.kind+" job has no volume per allocation", "", "remove per_alloc")
	}
	if g.tg.Update != nil && deref(g.tg.Update.Canary) > 0 {
		g.refuse(at.Attr("per_alloc"), "per_alloc excludes canaries", fmt.Sprintf("update.canary is %d", *g.tg.Update.Canary), "remove per_alloc, or write canary = 0")
	}
	if v.Sticky {
		g.refuse(at.Attr("per_alloc"), "per_alloc and sticky exclude each other", "", "keep one of them")
	}
}

func (g *group) hostVolume(v *api.VolumeRequest, at jobspec.Path) {
	if v.MountOptions != nil {
		g.refuse(at.Attr("mount_options"), "a host volume has no mount options", "", "remove the block")
	}
	ok := g.choice(at.Attr("access_mode"), "access mode of a host volume", v.AccessMode, "",
		"single-node-reader-only", "single-node-writer", "single-node-single-writer", "single-node-multi-writer")
	if ok && v.AccessMode == "single-node-reader-only" {
		g.needsReadOnly(v, at)
	}
}

func (g *group) csiVolume(v *api.VolumeRequest, at jobspec.Path) {
	switch v.AttachmentMode {
	case "":
		g.refuse(at, "csi volume has no attachment_mode", "", `add attachment_mode = "file-system" or "block-device"`)
	case "block-device":
		if v.MountOptions != nil {
			g.refuse(at.Attr("mount_options"), "a block device has no mount options", "", "remove the block")
		}
	case "file-system":
	default:
		g.warn(at.Attr("attachment_mode"), "unknown attachment mode", fmt.Sprintf("%q", v.AttachmentMode), "write one of file-system, block-device")
	}
	many := deref(g.tg.Count) > 1 && !v.PerAlloc
	switch v.AccessMode {
	case "":
		g.refuse(at, "csi volume has no access_mode", "", `add access_mode = "single-node-writer" or the like`)
	case "single-node-reader-only":
		g.needsReadOnly(v, at)
		g.oneUser(many, v, at)
	case "single-node-writer":
		g.oneUser(many, v, at)
	case "multi-node-reader-only":
		g.needsReadOnly(v, at)
	case "multi-node-single-writer":
		g.oneUser(many && !v.ReadOnly, v, at)
	case "multi-node-multi-writer":
	default:
		modes := []string{"single-node-reader-only", "single-node-writer", "multi-node-reader-only", "multi-node-single-writer", "multi-node-multi-writer"}
		g.warn(at.Attr("access_mode"), "unknown access mode",
			fmt.Sprintf("%q", v.AccessMode), orElse(didYouMean(v.AccessMode, modes), "write one such as single-node-writer"))
	}
}

func (g *group) needsReadOnly(v *api.VolumeRequest, at jobspec.Path) {
	if !v.ReadOnly {
		g.refuse(at.Attr("access_mode"), "volume must be read-only", fmt.Sprintf("access_mode is %q", v.AccessMode), "add read_only = true")
	}
}

func (g *group) oneUser(many bool, v *api.VolumeRequest, at jobspec.Path) {
	if many {
		g.refuse(at.Attr("access_mode"), "volume is for one allocation", fmt.Sprintf("access_mode is %q and count is %d", v.AccessMode, deref(g.tg.Count)),
			"write count = 1 or per_alloc = true")
	}
}
