package httpapi

import (
	"net/http"
	"slices"
	"time"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/allocations"
	"taskrun/engine/httpapi/deployments"
	"taskrun/engine/httpapi/evaluations"
	"taskrun/engine/httpapi/events"
	"taskrun/engine/httpapi/files"
	"taskrun/engine/httpapi/jobs"
	"taskrun/engine/httpapi/node"
	"taskrun/engine/httpapi/operator"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/search"
	"taskrun/engine/httpapi/services"
	"taskrun/engine/httpapi/sessions"
	"taskrun/engine/httpapi/variables"
)

// routes returns the table of routes. Decoded paths are matched in this order,
// so a job whose ID ends like a path in the table cannot be reached, as in
// Nomad.
func routes(run *render.Run, cfg *Config, requests *node.Requests) []route {
	// all reads data that changes with any object of a table, one data that
	// changes with the object that the path names, and ofJob with the job.
	read := func(table fold.Table, key func(*rest.Request) string, get rest.Get) rest.Handler {
		return rest.Read(func(r *rest.Request, after uint64, limit time.Duration) uint64 {
			topic := fold.Topic{Table: table, Key: key(r)}
			index := run.Engine.State().Wait(r.Context(), topic, after, limit)
			if run.Resident && index == fold.FirstIndex && fromZero(topic) {
				if index = run.Engine.State().Index(fold.Topic{Table: table}); index == fold.FirstIndex {
					return 0
				}
			}
			return index
		}, get)
	}
	all := func(table fold.Table, get rest.Get) rest.Handler {
		return read(table, func(*rest.Request) string { return "" }, get)
	}
	one := func(table fold.Table, get rest.Get) rest.Handler {
		return read(table, func(r *rest.Request) string { return r.ID }, get)
	}
	ofJob := func(table fold.Table, get rest.Get) rest.Handler { return read(table, run.Key, get) }
	var (
		job     = jobs.New(run, cfg.Preflight, cfg.Sources, cfg.StopRun)
		allocs  = allocations.New(run)
		files   = files.New(run.Engine)
		evals   = evaluations.New(run)
		deploys = deployments.New(run)
		svcs    = services.New(run)
		vars    = variables.New(run.Engine.Variables(), run.Engine.State().Index)
		node    = node.New(run, node.Config{Version: cfg.Version, DataDir: cfg.DataDir, Ports: cfg.Ports, Dev: cfg.Dev, Facts: cfg.Facts}, requests)
		find    = search.New(run)
		session = sessions.New(run)
	)
	return slices.Concat([]route{
		{"GET", "/v1/node/pool/*/jobs", all(fold.Jobs, job.OfPool)},
		{"GET", "/v1/node/pool/*/nodes", all(fold.Nodes, node.OfPool)},
	}, clusterRoutes(run, cfg, all, one), []route{
		{"PUT", "/v1/node/*/eligibility", node.SetEligibility},
		{"GET", "/v1/client/metadata", rest.Write(node.Meta)},
		{"PUT", "/v1/client/metadata", rest.Write(node.ApplyMeta)},

		{"GET", "/v1/jobs", all(fold.Jobs, job.List)},
		{"GET", "/v1/job/*/allocations", ofJob(fold.AllocationsOfJob, allocs.OfJob)},
		{"GET", "/v1/job/*/evaluations", ofJob(fold.EvaluationsOfJob, evals.OfJob)},
		{"GET", "/v1/job/*/deployments", ofJob(fold.DeploymentsOfJob, deploys.OfJob)},
		{"GET", "/v1/job/*/deployment", ofJob(fold.DeploymentsOfJob, deploys.Latest)},
		{"GET", "/v1/job/*/summary", ofJob(fold.Jobs, job.Summary)},
		{"GET", "/v1/job/*/versions", ofJob(fold.Jobs, job.Versions)},
		{"PUT", "/v1/job/*/tag", job.Tag},
		{"DELETE", "/v1/job/*/tag", job.Untag},
		{"GET", "/v1/job/*/scale", ofJob(fold.ScaleOfJob, job.ScaleStatus)},
		{"GET", "/v1/job/*/submission", ofJob(fold.Jobs, job.Submission)},
		{"GET", "/v1/job/*/services", all(fold.Services, svcs.OfJob)},
		{"GET", "/v1/job/*/actions", rest.Write(session.Actions)},
		{"GET", "/v1/job/*/action", session.Action},
		{"PUT", "/v1/job/*/evaluate", rest.OrderOrNone(job.Evaluate)},
		{"PUT", "/v1/job/*/periodic/force", rest.Write(job.Launch)},
		{"PUT", "/v1/job/*/scale", rest.Order(job.Scale)},
		{"PUT", "/v1/job/*/revert", rest.Order(job.Revert)},
		{"PUT", "/v1/job/*/stable", rest.Order(job.SetStable)},
		{"PUT", "/v1/job/*/plan", jobs.WithJob(job, job.Plan)},
		{"PUT", "/v1/validate/job", jobs.WithJob(job, job.Validate)},
		{"PUT", "/v1/job/*/dispatch", rest.Order(job.Dispatch)},
		{"PUT", "/v1/jobs/parse", jobs.WithJob(job, job.Parse)},
		{"PUT", "/v1/jobs", jobs.WithJob(job, job.Register)},
		{"PUT", "/v1/job/*", jobs.WithJob(job, job.Register)},
		{"DELETE", "/v1/job/*", rest.Write(job.Stop)},
		{"GET", "/v1/job/*", ofJob(fold.Jobs, job.Get)},

		{"GET", "/v1/allocations", all(fold.Allocations, allocs.List)},
		{"GET", "/v1/allocation/*/checks", one(fold.Allocations, allocs.Checks)},
		{"GET", "/v1/allocation/*/services", one(fold.Allocations, svcs.OfAllocation)},
		{"PUT", "/v1/allocation/*/stop", rest.Write(allocs.Stop)},
		{"GET", "/v1/allocation/*", one(fold.Allocations, allocs.Get)},
		{"GET", "/v1/client/allocation/*/checks", one(fold.Allocations, allocs.Checks)},
		{"GET", "/v1/client/allocation/*/exec", session.Exec},
		{"GET", "/v1/client/allocation/*/stats", rest.Write(allocs.Stats)},
		{"PUT", "/v1/client/allocation/*/restart", rest.OrderOrNone(allocs.Restart)},
		{"PUT", "/v1/client/allocation/*/signal", rest.Order(allocs.Signal)},
		{"GET", "/v1/client/allocation/*/pause", rest.Write(allocs.Pause)},
		{"PUT", "/v1/client/allocation/*/pause", rest.OrderOrNone(allocs.SetPause)},
		{"GET", "/v1/client/fs/logs/*", files.Logs},
		{"GET", "/v1/client/fs/outputs", files.Outputs},
		{"GET", "/v1/client/fs/ls/*", rest.Write(files.List)},
		{"GET", "/v1/client/fs/stat/*", rest.Write(files.Stat)},
		{"GET", "/v1/client/fs/cat/*", files.Cat},
		{"GET", "/v1/client/fs/readat/*", files.ReadAt},
		{"GET", "/v1/client/fs/stream/*", files.Stream},

		{"GET", "/v1/client/allocation/*/gc", allocs.RefuseGC},
		{"PUT", "/v1/client/allocation/*/gc", allocs.RefuseGC},

		{"GET", "/v1/evaluations/count", all(fold.Evaluations, evals.Count)},
		{"DELETE", "/v1/evaluations", operator.Refuse(http.StatusNotImplemented, "not supported by taskrun: no evaluation waits for a scheduler; those of jobs that have ended are removed by nomad system gc")},
		{"GET", "/v1/evaluations", all(fold.Evaluations, evals.List)},
		{"GET", "/v1/evaluation/*/allocations", all(fold.Allocations, allocs.OfEvaluation)},
		{"GET", "/v1/evaluation/*", one(fold.Evaluations, evals.Get)},

		{"GET", "/v1/deployments", all(fold.Deployments, deploys.List)},
		{"PUT", "/v1/deployment/promote/*", rest.Order(deploys.Promote)},
		{"PUT", "/v1/deployment/unblock/*", deploys.RefuseUnblock},
		{"PUT", "/v1/deployment/pause/*", rest.Order(deploys.Pause)},
		{"PUT", "/v1/deployment/fail/*", rest.Write(deploys.Fail)},
		{"PUT", "/v1/deployment/allocation-health/*", rest.Order(deploys.SetHealth)},
		{"GET", "/v1/deployment/allocations/*", all(fold.Allocations, allocs.OfDeployment)},
		{"GET", "/v1/deployment/*", all(fold.Deployments, deploys.Get)},

		{"GET", "/v1/scaling/policies", all(fold.Jobs, job.ScalingPolicies)},
		{"GET", "/v1/scaling/policy/*", all(fold.Jobs, job.ScalingPolicy)},

		{"GET", "/v1/event/stream", events.New(run).Stream},

		{"GET", "/v1/client/gc", allocs.RefuseAllGC},
		{"PUT", "/v1/client/gc", allocs.RefuseAllGC},
		{"GET", "/v1/client/stats", rest.Write(node.Stats)},
		{"PUT", "/v1/node/*/drain", node.Refuse},
		{"PUT", "/v1/node/*/evaluate", node.Refuse},
		{"PUT", "/v1/node/*/purge", node.Refuse},
		{"GET", "/v1/nodes", all(fold.Nodes, node.List)},
		{"GET", "/v1/node/*/allocations", all(fold.Allocations, allocs.OfNode)},
		{"GET", "/v1/node/*", one(fold.Nodes, node.Get)},

		{"GET", "/v1/services", all(fold.Services, svcs.List)},
		{"GET", "/v1/service/*", one(fold.Services, svcs.Get)},
		{"DELETE", "/v1/service/*", rest.Write(svcs.Delete)},

		{"GET", "/v1/vars", all(fold.Variables, vars.List)},
		{"GET", "/v1/var/*", read(fold.Variables, variables.Key, vars.Get)},
		{"PUT", "/v1/var/*", vars.Put},
		{"DELETE", "/v1/var/*", vars.Delete},

		{"GET", "/v1/agent/self", rest.Write(node.Self)},
		{"GET", "/v1/agent/members", rest.Write(node.Members)},
		{"GET", "/v1/agent/servers", rest.Write(node.Peers)},
		{"GET", "/v1/agent/monitor", node.Monitor},
		{"GET", "/v1/agent/health", rest.Write(node.Health)},
		{"GET", "/v1/status/leader", rest.Write(node.Leader)},
		{"GET", "/v1/status/peers", rest.Write(node.Peers)},
		{"GET", "/v1/regions", rest.Write(node.Regions)},
		{"GET", "/v1/metrics", node.Metrics},
		{"PUT", "/v1/search", rest.Order(find.Search)},
		{"PUT", "/v1/search/fuzzy", rest.Order(find.Fuzzy)},
		{"PUT", "/v1/system/gc", evals.Collect},
		{"PUT", "/v1/system/reconcile/summaries", node.ReconcileSummaries},
	}, refusedRoutes())
}

// fromZero reports whether a list has index 0 in Nomad until its table changes
// for the first time. That of other lists is 1. The lists of a job without such
// objects have the index of the table.
func fromZero(t fold.Topic) bool {
	switch t.Table {
	case fold.Jobs, fold.Allocations, fold.Evaluations, fold.Deployments:
		return t.Key == ""
	case fold.AllocationsOfJob, fold.EvaluationsOfJob, fold.DeploymentsOfJob:
		return true
	default:
		return false
	}
}
