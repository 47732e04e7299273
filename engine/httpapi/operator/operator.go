// Package operator serves what a cluster's operator looks at: the configuration
// of the scheduler, which is stored and has no effect, and the servers, of which
// there is one, which is always healthy. See
// https://developer.hashicorp.com/nomad/api-docs/operator.
package operator

import (
	"net/http"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
)

// Handler serves the operator's view of an engine.
type Handler struct {
	run     *render.Run
	address string // of the only server
}

// New returns a handler. The address is that of the only server.
func New(run *render.Run, address string) *Handler { return &Handler{run, address} }

// Scheduler answers GET /v1/operator/scheduler/configuration.
func (h *Handler) Scheduler(*rest.Request) (any, error) {
	config := h.run.Engine.Registry().Scheduler.Get("")
	return struct {
		SchedulerConfig *api.SchedulerConfiguration
		Index           uint64
		KnownLeader     bool
		LastContact     int
		NextToken       string
	}{SchedulerConfig: config, Index: config.ModifyIndex, KnownLeader: true}, nil
}

// SetScheduler answers PUT /v1/operator/scheduler/configuration. With cas, the
// configuration must not have changed since that index.
// RejectJobRegistration has no effect here: in Nomad it concerns tokens without
// management rights, and without ACLs everybody has those.
func (h *Handler) SetScheduler(r *rest.Request) error {
	var config api.SchedulerConfiguration
	if err := r.Decode(&config); err != nil {
		return rest.Fail(http.StatusBadRequest, "Error parsing scheduler config: %v", err)
	}
	switch config.SchedulerAlgorithm {
	case "":
		config.SchedulerAlgorithm = api.SchedulerAlgorithmBinpack
	case api.SchedulerAlgorithmBinpack, api.SchedulerAlgorithmSpread:
	default:
		return rest.Fail(http.StatusBadRequest, "invalid scheduler algorithm: %v", config.SchedulerAlgorithm)
	}
	var expected *uint64
	if r.Query.Has("cas") {
		index, err := strconv.ParseUint(r.Query.Get("cas"), 10, 64)
		if err != nil {
			return rest.Fail(http.StatusBadRequest, "Error parsing cas value: %v", err)
		}
		expected = &index
	}
	updated := true
	index, err := h.run.Engine.Registry().Scheduler.Change("", func(was *api.SchedulerConfiguration) (*api.SchedulerConfiguration, error) {
		if expected != nil && *expected != was.ModifyIndex {
			updated = false
			return was, nil
		}
		return &config, nil
	})
	if err != nil {
		return err
	}
	r.SetIndex(index)
	return r.JSON(http.StatusOK, struct {
		Updated bool
		Index   uint64
	}{updated, index})
}

// Raft answers GET /v1/operator/raft/configuration.
func (h *Handler) Raft(*rest.Request) (any, error) {
	return api.RaftConfiguration{Servers: []*api.RaftServer{{
		ID: h.run.Machine.ID, Node: h.server(), Address: h.address, Leader: true, Voter: true, RaftProtocol: "3",
	}}}, nil
}

// server returns the name of the only server.
func (h *Handler) server() string { return h.run.Machine.Name + "." + h.run.Machine.Region }

// Health answers GET /v1/operator/autopilot/health.
func (h *Handler) Health(*rest.Request) (any, error) {
	id := h.run.Machine.ID
	version, _ := h.run.Machine.Attribute("nomad.version")
	return &api.OperatorHealthReply{
		Healthy: true, Leader: id, Voters: []string{id},
		Servers: []api.ServerHealth{{
			ID: id, Name: h.server(), Address: h.address, SerfStatus: "alive", Version: version, Leader: true,
			Healthy: true, Voter: true, StableSince: h.run.Began.Round(time.Second).UTC(),
		}},
	}, nil
}

// Autopilot answers GET /v1/operator/autopilot/configuration with Nomad's
// defaults.
func (h *Handler) Autopilot(*rest.Request) (any, error) {
	return &api.AutopilotConfiguration{
		CleanupDeadServers: true, LastContactThreshold: 200 * time.Millisecond, MaxTrailingLogs: 250,
		ServerStabilizationTime: 10 * time.Second, CreateIndex: fold.FirstIndex, ModifyIndex: fold.FirstIndex,
	}, nil
}

// OwnToken answers GET /v1/acl/token/self, as a server without ACLs does.
func (h *Handler) OwnToken(*rest.Request) (any, error) {
	return api.ACLToken{AccessorID: "acls-disabled", Name: "ACLs disabled token", Type: "client"}, nil
}

// License answers GET /v1/operator/license with 204: there is no license.
func (h *Handler) License(r *rest.Request) error {
	r.Answer.WriteHeader(http.StatusNoContent)
	return nil
}

// Refuse returns the handler of a request that is not supported, which says why.
func Refuse(status int, text string) rest.Handler {
	return func(*rest.Request) error { return rest.Fail(status, "%s", text) }
}
