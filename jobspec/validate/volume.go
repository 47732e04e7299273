package validate

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

func (g *group) volumes() {
	for _, name := range slices.Sorted(maps.Keys(g.tg.Volumes)) {
		v := &volume{g, orEmpty(g.tg.Volumes[name]), g.at.Label("volume", name)}
		switch v.Type {
		case volumeHost:
			v.common()
			v.host()
		case volumeCSI:
			v.common()
			v.csi()
		default:
			// Nomad drops such a volume before it validates the job.
			g.warn(v.at.Attr("type"), "volume has no effect", fmt.Sprintf("its type is %q; Nomad drops types other than host and csi", v.Type),
				cmp.Or(diagnostic.DidYouMean(v.Type, []string{volumeHost, volumeCSI}), `write type = "host" or "csi"`))
		}
	}
}

type volume struct {
	group *group
	*api.VolumeRequest
	at jobspec.Path
}

func (v *volume) common() {
	v.group.required(v.at, v.Source, "volume has no source", `add source = "NAME"`)
	if !v.PerAlloc {
		return
	}
	if v.group.kind == api.JobTypeSystem || v.group.kind == api.JobTypeSysbatch {
		v.group.refuse(v.at.Attr("per_alloc"), "a "+v.group.kind+" job has no volume per allocation", "", "remove per_alloc")
	}
	if v.group.tg.Update != nil && deref(v.group.tg.Update.Canary) > 0 {
		v.group.refuse(v.at.Attr("per_alloc"), "per_alloc excludes canaries", fmt.Sprintf("update.canary is %d", *v.group.tg.Update.Canary), "remove per_alloc, or write canary = 0")
	}
	if v.Sticky {
		v.group.refuse(v.at.Attr("per_alloc"), "per_alloc and sticky exclude each other", "", "keep one of them")
	}
}

func (v *volume) host() {
	if v.MountOptions != nil {
		v.group.refuse(v.at.Attr("mount_options"), "a host volume has no mount options", "", "remove the block")
	}
	ok := v.group.choice(v.at.Attr("access_mode"), "access mode of a host volume", v.AccessMode, "",
		"single-node-reader-only", "single-node-writer", "single-node-single-writer", "single-node-multi-writer")
	if ok && v.AccessMode == "single-node-reader-only" {
		v.needsReadOnly()
	}
}

func (v *volume) csi() {
	switch v.AttachmentMode {
	case "":
		v.group.refuse(v.at, "csi volume has no attachment_mode", "", `add attachment_mode = "file-system" or "block-device"`)
	case "block-device":
		if v.MountOptions != nil {
			v.group.refuse(v.at.Attr("mount_options"), "a block device has no mount options", "", "remove the block")
		}
	case "file-system":
	default:
		v.group.warn(v.at.Attr("attachment_mode"), "unknown attachment mode", fmt.Sprintf("%q", v.AttachmentMode), "write one of file-system, block-device")
	}
	many := deref(v.group.tg.Count) > 1 && !v.PerAlloc
	switch v.AccessMode {
	case "":
		v.group.refuse(v.at, "csi volume has no access_mode", "", `add access_mode = "single-node-writer" or the like`)
	case "single-node-reader-only":
		v.needsReadOnly()
		v.oneUser(many)
	case "single-node-writer":
		v.oneUser(many)
	case "multi-node-reader-only":
		v.needsReadOnly()
	case "multi-node-single-writer":
		v.oneUser(many && !v.ReadOnly)
	case "multi-node-multi-writer":
	default:
		modes := []string{"single-node-reader-only", "single-node-writer", "multi-node-reader-only", "multi-node-single-writer", "multi-node-multi-writer"}
		v.group.warn(v.at.Attr("access_mode"), "unknown access mode",
			fmt.Sprintf("%q", v.AccessMode), cmp.Or(diagnostic.DidYouMean(v.AccessMode, modes), "write one such as single-node-writer"))
	}
}

func (v *volume) needsReadOnly() {
	if !v.ReadOnly {
		v.group.refuse(v.at.Attr("access_mode"), "volume must be read-only", fmt.Sprintf("access_mode is %q", v.AccessMode), "add read_only = true")
	}
}

func (v *volume) oneUser(many bool) {
	if many {
		v.group.refuse(v.at.Attr("access_mode"), "volume is for one allocation", fmt.Sprintf("access_mode is %q and count is %d", v.AccessMode, deref(v.group.tg.Count)),
			"write count = 1 or per_alloc = true")
	}
}

func (t *task) volumeMounts() {
	for m, at := range blocks(t.t.VolumeMounts, "volume_mount", t.at) {
		if m.Volume == nil {
			// Nomad drops such a mount before it validates the job.
			t.warn(at, "volume_mount has no effect", "it names no volume", `add volume = "NAME"`)
			continue
		}
		if !t.g.hasVolume(*m.Volume) {
			t.missingVolume(*m.Volume, at.Attr("volume"))
		}
		t.required(at, deref(m.Destination), "volume_mount has no destination", `add destination = "/PATH"`)
		t.choice(at.Attr("propagation_mode"), "propagation mode", deref(m.PropagationMode), "",
			api.VolumeMountPropagationPrivate, api.VolumeMountPropagationHostToTask, api.VolumeMountPropagationBidirectional)
		t.choice(at.Attr("selinux_label"), "SELinux label", deref(m.SELinuxLabel), "", "z", "Z")
	}
}

func (t *task) missingVolume(name string, at jobspec.Path) {
	if name == "" {
		t.refuse(at, "volume_mount names no volume", "", `write volume = "NAME"`)
		return
	}
	if v := t.g.tg.Volumes[name]; v != nil {
		t.refuse(at, fmt.Sprintf("volume %q cannot be mounted", name), fmt.Sprintf("its type is %q; Nomad drops it", v.Type), `write type = "host" or "csi" in the volume`)
		return
	}
	t.refuse(at, fmt.Sprintf("volume %q is not defined", name), fmt.Sprintf("group %q has no such volume", t.g.name),
		cmp.Or(diagnostic.DidYouMean(name, slices.Sorted(maps.Keys(t.g.tg.Volumes))), fmt.Sprintf("add volume %q { … } to the group", name)))
}

func (t *task) csiPlugin() {
	p := t.t.CSIPluginConfig
	if p == nil {
		return
	}
	at := t.at.Attr("csi_plugin")
	t.required(at, p.ID, "csi_plugin has no id", `add id = "NAME"`)
	t.choice(at.Attr("type"), "plugin type", string(p.Type),
		string(api.CSIPluginTypeNode), string(api.CSIPluginTypeController), string(api.CSIPluginTypeMonolith))
	rel, err := filepath.Rel(p.MountDir, p.StagePublishBaseDir)
	if p.MountDir != "" && p.StagePublishBaseDir != "" && err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		t.refuse(at.Attr("stage_publish_base_dir"), "stage_publish_base_dir lies in mount_dir",
			fmt.Sprintf("%q is below %q", p.StagePublishBaseDir, p.MountDir), "write another directory")
	}
}
