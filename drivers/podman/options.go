package podman

import (
	"fmt"

	"taskrun/drivers/docker/settings"
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
