// Package podman is the podman driver: a task is a container of Podman; see
// https://developer.hashicorp.com/nomad/plugins/drivers/podman. It has the
// options of that plugin, and is otherwise the docker driver on Podman's socket
// for Docker's API. Without Podman it uses the Docker engine.
package podman

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/moby/moby/client"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/settings"
	"taskrun/drivers/schema"
	"taskrun/jobspec/taskenv"
)

var (
	_ drivers.Driver         = (*Driver)(nil)
	_ drivers.Configurable   = (*Driver)(nil)
	_ drivers.Unheeder       = (*Driver)(nil)
	_ drivers.ConfigUnheeder = (*Driver)(nil)
	_ drivers.HostPathUser   = (*Driver)(nil)
	_ drivers.Finder         = (*Driver)(nil)
	_ drivers.NetworkManager = (*Driver)(nil)
)

// Driver is the podman driver.
type Driver struct {
	*docker.Driver

	options options
	instead atomic.Bool // the engine is Docker's, since there is no Podman
}

// New returns a driver without tasks. It does not look for an engine.
func New(config docker.Config) *Driver {
	d := &Driver{options: defaults()}
	config.Front = &docker.Front{
		Name: "podman", Engine: "Podman",
		Remedy:      `start its service (systemctl --user start podman.socket, or podman system service) or set CONTAINER_HOST`,
		Find:        d.find,
		Decode:      d.decode,
		Describe:    d.describe,
		CodeError:   func(int) error { return nil },                      // the plugin adds nothing to the code
		OutOfMemory: errors.New("Podman container killed by OOM killer"), //nolint:staticcheck // Nomad's words
	}
	d.Driver = docker.New(config)
	return d
}

// TaskConfigSchema describes the config block.
func (d *Driver) TaskConfigSchema() hcldec.Spec { return taskSchema() }

// ConfigSchema describes the options of the driver.
func (d *Driver) ConfigSchema() hcldec.Spec { return schema.Of[options]() }

// SetConfig sets the options of the driver.
func (d *Driver) SetConfig(config cty.Value) error {
	o := defaults()
	err := taskenv.Decode(config, &o)
	var general settings.Options
	if err == nil {
		general, err = o.general()
	}
	if err == nil {
		err = general.Validate()
	}
	if err != nil {
		return fmt.Errorf("cannot configure podman: %w", err)
	}
	d.options = o
	d.SetOptions(general)
	return nil
}

// find returns the engine at a host, or where Podman has its socket, or that of
// the docker command.
func (d *Driver) find(host string, _ *settings.Options) (daemon.Endpoint, error) {
	engine, err := find(host, os.Getenv, os.Geteuid())
	if errors.Is(err, errNoPodman) {
		d.instead.Store(true)
		return daemon.Find("", nil, os.Getenv), nil
	}
	return engine, err
}

// decode decodes the config block of a task. In a Docker engine it is adapted to
// that.
func (d *Driver) decode(o *settings.Options, cfg *drivers.TaskConfig) (*settings.Config, error) {
	c, err := settingsOf(o, d.options.DNSServers, cfg)
	if err == nil && d.instead.Load() {
		adapt(c)
	}
	return c, err
}

// Leftovers returns the containers of all runs. Those in a Docker engine are
// found by the docker driver.
func (d *Driver) Leftovers(ctx context.Context) ([]drivers.Leftover, error) {
	if d.instead.Load() {
		return nil, nil
	}
	return d.Driver.Leftovers(ctx)
}

// describe completes the fingerprint with the plugin's attributes.
func (d *Driver) describe(ctx context.Context, cli *client.Client, version client.ServerVersionResult, f *drivers.Fingerprint) error {
	info, err := cli.Info(ctx, client.InfoOptions{})
	if err != nil {
		return fmt.Errorf("cannot identify the engine at %s: %w", cli.DaemonHost(), err)
	}
	rootless, err := daemon.Rootless(ctx, cli)
	if err != nil {
		return fmt.Errorf("the engine at %s: %w", cli.DaemonHost(), err)
	}
	isPodman := daemon.IsPodman(version)
	d.instead.Store(!isPodman)
	if !isPodman {
		f.Notice = fmt.Sprintf("podman tasks run on the Docker engine at %s: no Podman was found; userns, slirp4netns and pasta have no effect there", cli.DaemonHost())
	}
	has := func(option string) string {
		return strconv.FormatBool(slices.ContainsFunc(info.Info.SecurityOptions, func(o string) bool {
			return strings.HasPrefix(o, "name="+option)
		}))
	}
	for name, value := range map[string]string{
		"rootless": strconv.FormatBool(rootless), "seccompEnabled": has("seccomp"), "selinuxEnabled": has("selinux"), "appArmor": has("apparmor"),
		"cgroupVersion": "v" + info.Info.CgroupVersion,
	} {
		f.Attributes["driver.podman."+name] = value
	}
	return nil
}

// HostPaths returns the host paths in a config block.
func (d *Driver) HostPaths(config map[string]any) []drivers.HostPath {
	found := d.Driver.HostPaths(config)
	image, _ := config["image"].(string)
	for _, transport := range []string{"docker-archive:", "oci-archive:"} {
		rest, ok := strings.CutPrefix(image, transport)
		path, _, _ := strings.Cut(rest, ":")
		if ok && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/local/") {
			found = append(found, drivers.HostPath{Option: "image", Path: path})
		}
	}
	return found
}
