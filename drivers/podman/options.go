package podman

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
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

// options are the options of the driver, for all its tasks; see
// https://developer.hashicorp.com/nomad/plugins/drivers/podman#plugin-options.
type options struct {
	SocketPath string `cty:"socket_path"`
	Sockets    []struct {
		Name string `cty:"name"`
		Path string `cty:"socket_path" required:"true"`
	} `cty:"socket"`

	Auth    *settings.AuthOptions `cty:"auth"`
	Volumes struct {
		Enabled      bool   `cty:"enabled"`
		SELinuxLabel string `cty:"selinuxlabel"`
	} `cty:"volumes"`
	Logging *struct {
		Driver  string            `cty:"driver"`
		Options map[string]string `cty:"options"`
	} `cty:"logging"`
	DisableLogCollection bool     `cty:"disable_log_collection"`
	ExtraLabels          []string `cty:"extra_labels"`
	DNSServers           []string `cty:"dns_servers"`

	// The following options have no effect; see Unheeded.
	GC struct {
		Container *bool `cty:"container"`
	} `cty:"gc"`
	Networking struct {
		DefaultRootlessMode string `cty:"default_rootless_mode"`
	} `cty:"networking"`
	RecoverStopped    bool   `cty:"recover_stopped"`
	ClientHTTPTimeout string `cty:"client_http_timeout"`
}

func defaults() (o options) {
	o.Volumes.Enabled = true
	return o
}

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

// general returns the options as those of the docker driver.
func (o *options) general() (settings.Options, error) {
	out := settings.Defaults()
	out.Endpoint, out.Auth, out.Volumes = o.SocketPath, o.Auth, o.Volumes
	out.ExtraLabels, out.DisableLogCollection = o.ExtraLabels, o.DisableLogCollection
	if len(o.Sockets) > 0 && o.SocketPath != "" {
		return out, fmt.Errorf("socket and socket_path cannot be used together")
	}
	for _, s := range o.Sockets {
		if s.Name == "" || s.Name == "default" || out.Endpoint == "" {
			out.Endpoint = s.Path
		}
	}
	if o.Logging != nil {
		log, err := logTo(o.Logging.Driver, nil)
		if err != nil {
			return out, fmt.Errorf("logging: %w", err)
		}
		if log != nil {
			out.Logging = &settings.LogOptions{Type: log.Type, Config: o.Logging.Options}
		}
	}
	return out, nil
}

// Unheeded returns the options that have no effect.
func (d *Driver) Unheeded(config cty.Value) (list []drivers.Unheeded) {
	o := defaults()
	if taskenv.Decode(config, &o) != nil {
		return nil // SetConfig reports the error
	}
	for _, u := range []struct {
		given           bool
		option, instead string
	}{
		{len(o.Sockets) > 1, "socket", "all tasks use one engine: the one named default, or the first"},
		{o.GC.Container != nil && !*o.GC.Container, "gc.container", "containers are removed with their tasks"},
		{o.Networking.DefaultRootlessMode != "", "networking.default_rootless_mode", "tasks without network_mode use the engine's default network"},
		{o.RecoverStopped, "recover_stopped", "a stopped container is a task that has ended"},
		{o.ClientHTTPTimeout != "", "client_http_timeout", "the engine has as long as the task's own timeouts allow"},
	} {
		if u.given {
			list = append(list, drivers.Unheeded{Option: u.option, Instead: u.instead})
		}
	}
	return list
}

// UnheededInConfig returns the options of a config block that have no effect:
// those that Docker's API cannot express.
func (d *Driver) UnheededInConfig(config map[string]any) (list []drivers.Unheeded) {
	add := func(option, instead string) {
		list = append(list, drivers.Unheeded{Option: option, Instead: instead})
	}
	if config["init_path"] != nil {
		add("init_path", "the engine's own init is used")
	}
	if s, ok := config["socket"].(string); ok && s != "default" {
		add("socket", "all tasks use one engine")
	}
	if count := len(settings.Elements(config["static_ips"])); count > 1 {
		add("static_ips", "only the first address of a family counts")
	}
	for _, block := range settings.Elements(config["auth"]) {
		if body, ok := block.(map[string]any); ok && body["tls_verify"] == false {
			add("auth.tls_verify", "the engine's registries.conf decides")
		}
	}
	return list
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
