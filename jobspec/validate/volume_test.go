package validate

import (
	"testing"

	"github.com/hashicorp/nomad/api"
)

func TestVolumeRules(t *testing.T) {
	t.Parallel()
	volume := func(v api.VolumeRequest) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) { g.Volumes = map[string]*api.VolumeRequest{"v": &v} }
	}
	two := func(v api.VolumeRequest) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) { g.Count = new(2); volume(v)(g) }
	}
	csi := func(access string, readOnly bool) api.VolumeRequest {
		return api.VolumeRequest{Type: "csi", Source: "s", AttachmentMode: "file-system", AccessMode: access, ReadOnly: readOnly}
	}
	checkFaults(t, []fault{
		{name: "host", group: volume(api.VolumeRequest{Type: "host", Source: "s"})},
		{name: "csi", group: two(csi("multi-node-multi-writer", false))},
		{name: "type", group: volume(api.VolumeRequest{Type: "nfs"}), want: []string{`warning job.group[0].volume["v"].type: volume has no effect`}},
		{name: "no source", group: volume(api.VolumeRequest{Type: "host"}), want: []string{`error job.group[0].volume["v"]: volume has no source`}},
		{
			name: "per_alloc of a system job", job: func(j *api.Job) { j.Type = new("system") },
			group: volume(api.VolumeRequest{Type: "host", Source: "s", PerAlloc: true}),
			want:  []string{`error job.group[0].volume["v"].per_alloc: a system job has no volume per allocation`},
		},
		{
			name: "per_alloc, canaries and sticky",
			group: func(g *api.TaskGroup) {
				g.Update = &api.UpdateStrategy{Canary: new(1)}
				volume(api.VolumeRequest{Type: "host", Source: "s", PerAlloc: true, Sticky: true})(g)
			},
			want: []string{
				`error job.group[0].volume["v"].per_alloc: per_alloc excludes canaries`,
				`error job.group[0].volume["v"].per_alloc: per_alloc and sticky exclude each other`,
			},
		},
		{
			name: "host with mount options", group: volume(api.VolumeRequest{Type: "host", Source: "s", MountOptions: &api.CSIMountOptions{}}),
			want: []string{`error job.group[0].volume["v"].mount_options: a host volume has no mount options`},
		},
		{
			name: "host for many nodes", group: volume(api.VolumeRequest{Type: "host", Source: "s", AccessMode: "multi-node-multi-writer"}),
			want: []string{`error job.group[0].volume["v"].access_mode: unknown access mode of a host volume`},
		},
		{
			name: "host reader that writes", group: volume(api.VolumeRequest{Type: "host", Source: "s", AccessMode: "single-node-reader-only"}),
			want: []string{`error job.group[0].volume["v"].access_mode: volume must be read-only`},
		},
		{
			name: "csi without modes", group: volume(api.VolumeRequest{Type: "csi", Source: "s"}),
			want: []string{
				`error job.group[0].volume["v"]: csi volume has no attachment_mode`,
				`error job.group[0].volume["v"]: csi volume has no access_mode`,
			},
		},
		{
			name: "csi with unknown modes", group: volume(api.VolumeRequest{Type: "csi", Source: "s", AttachmentMode: "disk", AccessMode: "single-node-riter"}),
			want: []string{
				`warning job.group[0].volume["v"].attachment_mode: unknown attachment mode`,
				`warning job.group[0].volume["v"].access_mode: unknown access mode`,
			},
		},
		{
			name:  "csi block device with mount options",
			group: volume(api.VolumeRequest{Type: "csi", Source: "s", AttachmentMode: "block-device", AccessMode: "single-node-writer", MountOptions: &api.CSIMountOptions{}}),
			want:  []string{`error job.group[0].volume["v"].mount_options: a block device has no mount options`},
		},
		{name: "csi readers that write", group: volume(csi("multi-node-reader-only", false)), want: []string{`error job.group[0].volume["v"].access_mode: volume must be read-only`}},
		{name: "csi reader for two", group: two(csi("single-node-reader-only", true)), want: []string{`error job.group[0].volume["v"].access_mode: volume is for one allocation`}},
		{name: "csi writer for two", group: two(csi("single-node-writer", false)), want: []string{`error job.group[0].volume["v"].access_mode: volume is for one allocation`}},
		{name: "csi single writer for two", group: two(csi("multi-node-single-writer", false)), want: []string{`error job.group[0].volume["v"].access_mode: volume is for one allocation`}},
		{name: "csi single writer, read by two", group: two(csi("multi-node-single-writer", true))},
	})
}

func TestVolumeMountRules(t *testing.T) {
	t.Parallel()
	volumes := func(g *api.TaskGroup) {
		g.Volumes = map[string]*api.VolumeRequest{"data": {Type: "host", Source: "s"}, "nfs": {Type: "nfs", Source: "s"}}
	}
	mount := func(m api.VolumeMount) func(*api.Task) {
		return func(t *api.Task) { t.VolumeMounts = []*api.VolumeMount{&m} }
	}
	const dropped = `warning job.group[0].volume["nfs"].type: volume has no effect`
	checkFaults(t, []fault{
		{name: "valid", group: volumes, task: mount(api.VolumeMount{Volume: new("data"), Destination: new("/d"), SELinuxLabel: new("z")}), want: []string{dropped}},
		{name: "no volume", group: volumes, task: mount(api.VolumeMount{Destination: new("/d")}), want: []string{dropped, "warning job.group[0].task[0].volume_mount[0]: volume_mount has no effect"}},
		{name: "empty volume", group: volumes, task: mount(api.VolumeMount{Volume: new(""), Destination: new("/d")}), want: []string{dropped, "error job.group[0].task[0].volume_mount[0].volume: volume_mount names no volume"}},
		{name: "undefined volume", group: volumes, task: mount(api.VolumeMount{Volume: new("dta"), Destination: new("/d")}), want: []string{dropped, `error job.group[0].task[0].volume_mount[0].volume: volume "dta" is not defined`}},
		{name: "dropped volume", group: volumes, task: mount(api.VolumeMount{Volume: new("nfs"), Destination: new("/d")}), want: []string{dropped, `error job.group[0].task[0].volume_mount[0].volume: volume "nfs" cannot be mounted`}},
		{name: "no destination", group: volumes, task: mount(api.VolumeMount{Volume: new("data")}), want: []string{dropped, "error job.group[0].task[0].volume_mount[0]: volume_mount has no destination"}},
		{
			name: "modes", group: volumes, task: mount(api.VolumeMount{Volume: new("data"), Destination: new("/d"), PropagationMode: new("shared"), SELinuxLabel: new("x")}),
			want: []string{
				dropped,
				"error job.group[0].task[0].volume_mount[0].propagation_mode: unknown propagation mode",
				"error job.group[0].task[0].volume_mount[0].selinux_label: unknown SELinux label",
			},
		},
	})
}
