package preflight

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/datadir"
	"taskrun/jobspec"
)

// hostPaths warns once per job about host paths that its tasks do not get.
func hostPaths(c *Case, f File) jobspec.Diagnostics {
	if c.HostPaths {
		return nil
	}
	var first jobspec.Path
	var paths []string
	forTasks(f.Job, func(t *api.Task, at jobspec.Path) {
		d, ok := c.Drivers[t.Driver].(drivers.HostPathUser)
		if !ok {
			return
		}
		for _, p := range d.HostPaths(t.Config) {
			if len(paths) == 0 {
				first = at.Attr("config").Attr(p.Option)
			}
			if !slices.Contains(paths, p.Path) {
				paths = append(paths, p.Path)
			}
		}
	})
	if len(paths) == 0 {
		return nil
	}
	return jobspec.Diagnostics{{
		Severity: jobspec.Warning,
		Summary:  "tasks do not get paths of this machine: " + strings.Join(paths, ", "),
		Detail:   instead(paths, c.DataDir),
		Remedy:   "--host-paths mounts the real ones",
		Path:     first,
	}}
}

func instead(paths []string, dataDir string) string {
	said := fmt.Sprintf("folders in %s are used instead, with copies of the files; they are kept between runs", datadir.HostPathDir(dataDir, "/"))
	var nothing []string
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			nothing = append(nothing, p)
		}
	}
	if len(nothing) > 0 {
		said += "; nothing does for " + strings.Join(nothing, ", ")
	}
	return said
}
