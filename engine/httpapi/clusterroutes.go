package httpapi

import (
	"net"
	"net/http"
	"strconv"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/keys"
	"taskrun/engine/httpapi/namespaces"
	"taskrun/engine/httpapi/operator"
	"taskrun/engine/httpapi/pools"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/volumes"
)

// reader returns the handler of a query of objects in a table.
type reader func(table fold.Table, get rest.Get) rest.Handler

// clusterRoutes returns the routes for everything in a cluster besides jobs.
func clusterRoutes(run *render.Run, cfg *Config, all, one reader) []route {
	var (
		space  = namespaces.New(run)
		pool   = pools.New(run)
		volume = volumes.New(run, cfg.DataDir)
		op     = operator.New(run, net.JoinHostPort("127.0.0.1", strconv.Itoa(cfg.Ports.RPC)))
		key    = keys.New(run.Keys)
	)
	return []route{
		{"GET", "/v1/namespaces", all(fold.Namespaces, space.List)},
		{"PUT", "/v1/namespace", rest.Change(space.Put)},
		{"GET", "/v1/namespace/*", one(fold.Namespaces, space.Get)},
		{"PUT", "/v1/namespace/*", rest.Change(space.Put)},
		{"DELETE", "/v1/namespace/*", rest.Change(space.Delete)},

		{"GET", "/v1/node/pools", all(fold.NodePools, pool.List)},
		{"PUT", "/v1/node/pools", rest.Change(pool.Put)},
		{"GET", "/v1/node/pool/*", one(fold.NodePools, pool.Get)},
		{"PUT", "/v1/node/pool/*", rest.Change(pool.Put)},
		{"DELETE", "/v1/node/pool/*", rest.Change(pool.Delete)},

		{"GET", "/v1/volumes", all(fold.HostVolumes, volume.List)},
		{"GET", "/v1/volumes/claims", all(fold.Static, volume.Nothing)},
		{"PUT", "/v1/volume/host/create", volume.Create},
		{"PUT", "/v1/volume/host/register", volume.Register},
		{"GET", "/v1/volume/host/*", one(fold.HostVolumes, volume.Get)},
		{"DELETE", "/v1/volume/host/*", volume.Delete},
		{"GET", "/v1/volume/csi/*", operator.Refuse(http.StatusNotFound, "volume not found")},
		{"GET", "/v1/plugins", all(fold.Static, volume.Nothing)},
		{"GET", "/v1/plugin/csi/*", operator.Refuse(http.StatusNotFound, "plugin not found")},

		{"GET", "/.well-known/jwks.json", all(fold.Static, key.Set)},
		{"GET", "/.well-known/openid-configuration", key.Discovery},
		{"GET", "/v1/operator/keyring/keys", all(fold.Static, key.List)},

		{"GET", "/v1/operator/scheduler/configuration", all(fold.Scheduler, op.Scheduler)},
		{"PUT", "/v1/operator/scheduler/configuration", op.SetScheduler},
		{"GET", "/v1/operator/raft/configuration", rest.Write(op.Raft)},
		{"GET", "/v1/operator/autopilot/health", rest.Write(op.Health)},
		{"GET", "/v1/operator/autopilot/configuration", rest.Write(op.Autopilot)},
		{"PUT", "/v1/operator/autopilot/configuration", operator.Refuse(http.StatusNotImplemented, noAutopilot)},
		{"GET", "/v1/operator/license", op.License},
		{"GET", "/v1/acl/token/self", rest.Write(op.OwnToken)},
	}
}

const noAutopilot = "not supported by taskrun: there is only one server, which has no use for autopilot"

// refusedPaths are the paths that are refused whatever the method, unless a row
// of the other routes comes first. A path that ends in a slash stands for all
// paths below it.
var refusedPaths = []struct {
	status int
	text   string
	paths  []string
}{
	{http.StatusBadRequest, "ACL support disabled", []string{"/v1/acl/"}},
	{http.StatusNotImplemented, "Nomad Enterprise only endpoint", []string{
		"/v1/quota", "/v1/quota/", "/v1/quotas", "/v1/quota-usages", "/v1/sentinel/",
		"/v1/recommendation", "/v1/recommendation/", "/v1/recommendations", "/v1/recommendations/", "/v1/operator/utilization",
	}},
	{http.StatusNotImplemented, "not supported by taskrun: CSI volumes need plugins of a cluster; use a host volume", []string{
		"/v1/volumes/external", "/v1/volumes/snapshot", "/v1/volumes/claim/", "/v1/volume/csi/", "/v1/plugin/",
	}},
	{http.StatusNotImplemented, "not supported by taskrun: there is only one server, and it cannot join or leave others", []string{
		"/v1/agent/join", "/v1/agent/force-leave", "/v1/agent/servers", "/v1/operator/raft/", "/v1/operator/upgrade-check/",
	}},
	{http.StatusNotImplemented, noAutopilot, []string{"/v1/operator/autopilot/"}},
	{http.StatusNotImplemented, "not supported by taskrun: back up the data directory while the agent is stopped", []string{"/v1/operator/snapshot"}},
	{http.StatusNotImplemented, "not supported by taskrun: the key of workload identities stays the same", []string{
		"/v1/operator/keyring/", "/v1/agent/keyring/", "/v1/client/identity", "/v1/client/identity/",
	}},
	{http.StatusNotImplemented, "not supported by taskrun: profiles and descriptions of the host are not served", []string{"/v1/agent/pprof/", "/v1/agent/host"}},
	{http.StatusNotImplemented, "not supported by taskrun: there are no scheduler workers", []string{"/v1/agent/schedulers", "/v1/agent/schedulers/"}},
	{http.StatusNotImplemented, "not supported by taskrun: stop the agent and start it again to change its configuration", []string{"/v1/agent/reload"}},
}

// refusedRoutes returns the routes of refusedPaths.
func refusedRoutes() (list []route) {
	for _, refused := range refusedPaths {
		for _, path := range refused.paths {
			if path[len(path)-1] == '/' {
				path += "*"
			}
			for _, method := range []string{"GET", "PUT", "DELETE"} {
				list = append(list, route{method, path, operator.Refuse(refused.status, refused.text)})
			}
		}
	}
	return list
}
