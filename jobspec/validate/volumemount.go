package validate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/nomad/api"
)

func (t *task) volumeMounts() {
	for i, m := range t.t.VolumeMounts {
		m, at := orEmpty(m), t.at.Index("volume_mount", i)
		if m.Volume == nil {
			// Nomad drops such a mount before it validates the job.
			t.warn(at, "volume_mount has no effect", "it names no volume", `add volume = "NAME"`)
			continue
		}
		if !t.g.hasVolume(*m.Volume) {
			t.missingVolume(*m.Volume, i)
		}
		if deref(m.Destination) == "" {
			t.refuse(at, "volume_mount has no destination", "", `add destination = "/PATH"`)
		}
		t.choice(at.Attr("propagation_mode"), "propagation mode", deref(m.PropagationMode), "",
			api.VolumeMountPropagationPrivate, api.VolumeMountPropagationHostToTask, api.VolumeMountPropagationBidirectional)
		t.choice(at.Attr("selinux_label"), "SELinux label", deref(m.SELinuxLabel), "", "z", "Z")
	}
}

func (t *task) missingVolume(name string, i int) {
	at := t.at.Index("volume_mount", i).Attr("volume")
	if name == "" {
		t.refuse(at, "volume_mount names no volume", "", `write volume = "NAME"`)
		return
	}
	if v := t.g.tg.Volumes[name]; v != nil {
		t.refuse(at, fmt.Sprintf("volume %q cannot be mounted", name), fmt.Sprintf("its type is %q; Nomad drops it", v.Type), `write type = "host" or "csi" in the volume`)
		return
	}
	t.refuse(at, fmt.Sprintf("volume %q is not defined", name), fmt.Sprintf("group %q has no such volume", t.g.name),
		orElse(didYouMean(name, slices.Sorted(maps.Keys(t.g.tg.Volumes))), fmt.Sprintf("add volume %q { … } to the group", name)))
}
