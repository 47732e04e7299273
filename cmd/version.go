package cmd

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"taskrun/cmd/ui"
	"taskrun/jobspec/taskenv"
)

// version is the version of a build that has no module version.
const version = "0.1.0-dev"

type versionOptions struct{ mode ui.Mode }

func newVersionCommand(a *app) *cobra.Command {
	opts := versionOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Args:  arguments(0, 0),
		RunE:  func(*cobra.Command, []string) error { return runVersion(a, opts) },
	}
	bindOutput(cmd, &opts.mode, "plain, json, or quiet: only the number")
	return cmd
}

// versionInfo is the object of `version --output json`.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the source; empty when it is not known
	Modified bool   `json:"modified"` // the source differed from the revision
	Nomad    string `json:"nomad"`    // the Nomad version that this program follows
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func runVersion(a *app, opts versionOptions) error {
	info := currentVersion()
	out := a.Streams.Out
	var err error
	switch opts.mode {
	case ui.JSON:
		err = json.NewEncoder(out).Encode(info)
	case ui.Quiet:
		_, err = fmt.Fprintln(out, info.Version)
	default:
		_, err = fmt.Fprintf(out, "taskrun %s\nrevision %s\nbehaves like Nomad %s\nbuilt with %s for %s/%s\n",
			info.Version, info.revision(), info.Nomad, info.Go, info.OS, info.Arch)
	}
	return err
}

// currentVersion returns the version of this program, with its build
// information.
var currentVersion = sync.OnceValue(func() versionInfo {
	info := versionInfo{
		Version: version, Nomad: taskenv.NomadVersion,
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if v := build.Main.Version; v != "" && v != "(devel)" {
		info.Version = v
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Revision = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	return info
})

func (v versionInfo) revision() string {
	switch {
	case v.Revision == "":
		return "unknown"
	case v.Modified:
		return v.Revision + ", modified"
	}
	return v.Revision
}
