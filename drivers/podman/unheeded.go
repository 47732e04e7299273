package podman

import (
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/docker/settings"
	"taskrun/jobspec/taskenv"
)

// Unheeded returns the options that have no effect.
func (d *Driver) Unheeded(config cty.Value) (list []drivers.Unheeded) {
	o := defaults()
	if taskenv.Decode(config, &o) != nil {
		return nil // SetConfig reports the error
	}
	add := func(given bool, option, instead string) {
		if given {
			list = append(list, drivers.Unheeded{Option: option, Instead: instead})
		}
	}
	add(len(o.Sockets) > 1, "socket", "all tasks use one engine: the one named default, or the first")
	add(o.GC.Container != nil && !*o.GC.Container, "gc.container", "containers are removed with their tasks")
	add(o.Networking.DefaultRootlessMode != "", "networking.default_rootless_mode", "tasks without network_mode use the engine's default network")
	add(o.RecoverStopped, "recover_stopped", "a stopped container is a task that has ended")
	add(o.ClientHTTPTimeout != "", "client_http_timeout", "the engine has as long as the task's own timeouts allow")
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
