package preflight

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/datadir"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// volumes warns about volumes in other places than on a cluster.
func volumes(c *Case) jobspec.Diagnostics {
	told := make(map[string]bool) // sources
	return perJob(func(c *Case, f File) (diagnostics jobspec.Diagnostics) {
		c.eachUnknown(f.Job, func(v *api.VolumeRequest, source string, at jobspec.Path) {
			if !told[v.Source] && len(c.Stubs.Unfilled(stub.Need{Kind: stub.VolumeBlock, Label: source}, false)) == 0 {
				told[v.Source] = true
				diagnostics = append(diagnostics, folderNotice(v, c.DataDir, at))
			}
		})
		return append(diagnostics, linkNotice(f.Job, c.Drivers)...)
	})(c)
}

// stubbedVolumes refuses host volumes that no stub defines.
func stubbedVolumes(c *Case, f File) (diagnostics jobspec.Diagnostics) {
	c.eachUnknown(f.Job, func(v *api.VolumeRequest, source string, at jobspec.Path) {
		if v.Type == "host" {
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Summary: fmt.Sprintf("host volume %q is not set: no stub defines it", source),
				Remedy:  defineFolder(source),
				Path:    at,
			})
		}
	})
	return diagnostics
}

// defineFolder returns the remedy for a host volume without a stub.
func defineFolder(source string) string {
	return fmt.Sprintf(`define it in taskrun.hcl: host_volume %q { path = "…" }`, source)
}

// eachUnknown calls f with each volume that a task mounts and nothing defines,
// and with the source for the first allocation.
func (c *Case) eachUnknown(j *api.Job, f func(v *api.VolumeRequest, source string, at jobspec.Path)) {
	for i, g := range j.TaskGroups {
		for _, name := range slices.Sorted(maps.Keys(g.Volumes)) {
			v := g.Volumes[name]
			source := sourceOf(v)
			_, stubbed := c.Stubs.HostVolumes[source]
			registered := v.Type == "host" && c.HostVolume != nil && c.HostVolume(source)
			if !stubbed && !registered && isMounted(g, name) {
				f(v, source, jobspec.Root.Index("group", i).Label("volume", name))
			}
		}
	}
}

// sourceOf returns the source of a volume for the first allocation.
func sourceOf(v *api.VolumeRequest) string {
	if v.PerAlloc {
		return v.Source + "[0]"
	}
	return v.Source
}

func isMounted(g *api.TaskGroup, volume string) bool {
	return slices.ContainsFunc(g.Tasks, func(t *api.Task) bool {
		return slices.ContainsFunc(t.VolumeMounts, func(m *api.VolumeMount) bool {
			return m.Volume != nil && *m.Volume == volume
		})
	})
}

// folderNotice names the folder that replaces a volume.
func folderNotice(v *api.VolumeRequest, dataDir string, at jobspec.Path) jobspec.Diagnostic {
	p := jobspec.Diagnostic{
		Severity: jobspec.Warning,
		Summary:  fmt.Sprintf("host volume %q is not set: no stub defines it", v.Source),
		Detail:   fmt.Sprintf("a folder of the data directory is used instead and is kept between runs: %s", datadir.VolumeDir(dataDir, v.Source)),
		Remedy:   defineFolder(v.Source),
		Path:     at,
	}
	if v.Type == "csi" {
		p.Summary = fmt.Sprintf("CSI is not supported: a folder is used instead of volume %q", v.Source)
	}
	if v.PerAlloc {
		p.Detail += "[INDEX]"
	}
	return p
}

// linkNotice explains, once for each job, how tasks see volumes that cannot be
// mounted.
func linkNotice(j *api.Job, known map[string]drivers.Driver) jobspec.Diagnostics {
	var first jobspec.Diagnostic
	mounts, readOnly := 0, false
	for i, g := range j.TaskGroups {
		for k, t := range g.Tasks {
			d := known[t.Driver]
			if d == nil || d.Capabilities().FSIsolation != drivers.FSIsolationNone {
				continue
			}
			for n, m := range t.VolumeMounts {
				if m.Volume == nil || m.Destination == nil || g.Volumes[*m.Volume] == nil {
					continue
				}
				if mounts++; mounts == 1 {
					first = jobspec.Diagnostic{
						Severity: jobspec.Warning,
						Summary:  fmt.Sprintf("%s can mount nothing: volumes are links in the task's directory", t.Driver),
						Detail:   fmt.Sprintf("%q is the link %q where the task starts", *m.Destination, filepath.Clean("/" + *m.Destination)[1:]),
						Path:     jobspec.Root.Index("group", i).Index("task", k).Index("volume_mount", n),
					}
				}
				readOnly = readOnly || m.ReadOnly != nil && *m.ReadOnly || g.Volumes[*m.Volume].ReadOnly
			}
		}
	}
	if mounts == 0 {
		return nil
	}
	if mounts > 1 {
		first.Detail += fmt.Sprintf("; the job has %d of them", mounts)
	}
	if readOnly {
		first.Detail += "; read_only is not enforced"
	}
	return jobspec.Diagnostics{first}
}
