package podman

import (
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/docker/settings"
	"taskrun/jobspec/taskenv"
)

// Unheeded returns the options that have no effect.
func (d *Driver) Unheeded(config cty.Value) []drivers.Unheeded {
	o := defaults()
	if taskenv.Decode(config, &o) != nil {
		return nil // SetConfig reports the error
	}
	var list settings.Ineffective
	list.Add(len(o.Sockets) > 1, "socket", "all tasks use one engine: the one named default, or the first")
	list.Add(o.GC.Container != nil && !*o.GC.Container, "gc.container", "containers are removed with their tasks")
	list.Add(o.Networking.DefaultRootlessMode != "", "networking.default_rootless_mode", "tasks without network_mode use the engine's default network")
	list.Add(o.RecoverStopped, "recover_stopped", "a stopped container is a task that has ended")
	list.Add(o.ClientHTTPTimeout != "", "client_http_timeout", "the engine has as long as the task's own timeouts allow")
	return list
}

// UnheededInConfig returns the options of a config block that have no effect:
// those that Docker's API cannot express.
func (d *Driver) UnheededInConfig(config map[string]any) []drivers.Unheeded {
	var list settings.Ineffective
	list.Add(config["init_path"] != nil, "init_path", "the engine's own init is used")
	socket, named := config["socket"].(string)
	list.Add(named && socket != "default", "socket", "all tasks use one engine")
	list.Add(len(settings.Elements(config["static_ips"])) > 1, "static_ips", "only the first address of a family counts")
	for _, block := range settings.Elements(config["auth"]) {
		body, _ := block.(map[string]any)
		list.Add(body["tls_verify"] == false, "auth.tls_verify", "the engine's registries.conf decides")
	}
	return list
}
