package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"taskrun/engine/httpapi/allocations"
	"taskrun/engine/httpapi/deployments"
	"taskrun/engine/httpapi/evaluations"
	"taskrun/engine/httpapi/events"
	"taskrun/engine/httpapi/files"
	"taskrun/engine/httpapi/jobs"
	"taskrun/engine/httpapi/node"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/search"
	"taskrun/engine/httpapi/services"
	"taskrun/engine/httpapi/sessions"
	"taskrun/engine/httpapi/topic"
	"taskrun/engine/httpapi/variables"
)

// route is a path that is served. A star in it stands for an ID, which may
// contain slashes.
type route struct {
	method, path string
	handler      rest.Handler
}

// routes returns all that is served. Paths are matched decoded, in this order.
// A job whose ID ends like a path of the table can therefore not be reached,
// which is so in Nomad as well.
func routes(run *render.Run, cfg *Config, sessions *sessions.Handler) []route {
	read := func(of func(id string) topic.Topic, get rest.Get) rest.Handler {
		return rest.Read(func(ctx context.Context, id string, after uint64, limit time.Duration) uint64 {
			return run.Engine.Await(ctx, of(id), after, limit)
		}, get)
	}
	var (
		jobs    = jobs.New(run, jobs.Config{Preflight: cfg.Preflight, Sources: cfg.Sources, StopRun: cfg.StopRun})
		allocs  = allocations.New(run)
		files   = files.New(run.Engine)
		evals   = evaluations.New(run)
		deploys = deployments.New(run)
		svcs    = services.New(run)
		vars    = variables.New(run.Engine.Variables(), run.Engine.Index)
		node    = node.New(run, cfg.Version, cfg.DataDir)
		find    = search.New(run)
	)
	return []route{
		{"GET", "/v1/jobs", read(topic.Jobs, jobs.List)},
		{"GET", "/v1/job/*/allocations", read(topic.JobAllocs, allocs.OfJob)},
		{"GET", "/v1/job/*/evaluations", read(topic.JobEvaluations, evals.OfJob)},
		{"GET", "/v1/job/*/deployments", read(topic.JobDeployments, deploys.OfJob)},
		{"GET", "/v1/job/*/deployment", read(topic.JobDeployments, deploys.Latest)},
		{"GET", "/v1/job/*/summary", read(topic.Job, jobs.Summary)},
		{"GET", "/v1/job/*/versions", read(topic.Job, jobs.Versions)},
		{"PUT", "/v1/job/*/tag", jobs.Tag},
		{"DELETE", "/v1/job/*/tag", jobs.Untag},
		{"GET", "/v1/job/*/scale", read(topic.JobAllocs, jobs.ScaleStatus)},
		{"GET", "/v1/job/*/submission", read(topic.Job, jobs.Submission)},
		{"GET", "/v1/job/*/services", read(topic.Services, svcs.OfJob)},
		{"GET", "/v1/job/*/actions", rest.Write(sessions.Actions)},
		{"GET", "/v1/job/*/action", sessions.Action},
		{"PUT", "/v1/job/*/evaluate", rest.Write(jobs.Evaluate)},
		{"PUT", "/v1/job/*/periodic/force", rest.Write(jobs.Launch)},
		{"PUT", "/v1/job/*/scale", rest.Write(jobs.Scale)},
		{"PUT", "/v1/job/*/revert", rest.Write(jobs.Revert)},
		{"PUT", "/v1/job/*/plan", jobs.WithJob(jobs.Plan)},
		{"PUT", "/v1/validate/job", jobs.WithJob(jobs.Validate)},
		{"PUT", "/v1/job/*/dispatch", rest.Write(jobs.Dispatch)},
		{"PUT", "/v1/jobs/parse", jobs.WithJob(jobs.Parse)},
		{"PUT", "/v1/jobs", jobs.WithJob(jobs.Register)},
		{"PUT", "/v1/job/*", jobs.WithJob(jobs.Register)},
		{"DELETE", "/v1/job/*", rest.Write(jobs.Stop)},
		{"GET", "/v1/job/*", read(topic.Job, jobs.Get)},

		{"GET", "/v1/allocations", read(topic.Allocs, allocs.List)},
		{"GET", "/v1/allocation/*/services", read(topic.Alloc, svcs.OfAllocation)},
		{"PUT", "/v1/allocation/*/stop", rest.Write(allocs.Stop)},
		{"GET", "/v1/allocation/*", read(topic.Alloc, allocs.Get)},
		{"GET", "/v1/client/allocation/*/checks", read(topic.Alloc, allocs.Checks)},
		{"GET", "/v1/client/allocation/*/exec", sessions.Exec},
		{"GET", "/v1/client/allocation/*/stats", rest.Write(allocs.Stats)},
		{"PUT", "/v1/client/allocation/*/restart", rest.Write(allocs.Restart)},
		{"PUT", "/v1/client/allocation/*/signal", rest.Write(allocs.Signal)},
		{"GET", "/v1/client/fs/logs/*", files.Logs},
		{"GET", "/v1/client/fs/ls/*", rest.Write(files.List)},
		{"GET", "/v1/client/fs/stat/*", rest.Write(files.Stat)},
		{"GET", "/v1/client/fs/cat/*", files.Cat},
		{"GET", "/v1/client/fs/readat/*", files.ReadAt},
		{"GET", "/v1/client/fs/stream/*", files.Stream},

		{"GET", "/v1/client/allocation/*/pause", allocs.RefusePause},
		{"PUT", "/v1/client/allocation/*/pause", allocs.RefusePause},
		{"PUT", "/v1/client/allocation/*/gc", allocs.RefuseGC},

		{"GET", "/v1/evaluations/count", read(topic.Evaluations, evals.Count)},
		{"DELETE", "/v1/evaluations", evals.RefuseDeletion},
		{"GET", "/v1/evaluations", read(topic.Evaluations, evals.List)},
		{"GET", "/v1/evaluation/*/allocations", read(topic.Allocs, allocs.OfEvaluation)},
		{"GET", "/v1/evaluation/*", read(topic.Evaluation, evals.Get)},

		{"GET", "/v1/deployments", read(topic.Deployments, deploys.List)},
		{"PUT", "/v1/deployment/promote/*", rest.Write(deploys.Promote)},
		{"PUT", "/v1/deployment/unblock/*", deploys.RefuseUnblock},
		{"PUT", "/v1/deployment/pause/*", rest.Write(deploys.Pause)},
		{"PUT", "/v1/deployment/fail/*", rest.Write(deploys.Fail)},
		{"PUT", "/v1/deployment/allocation-health/*", rest.Write(deploys.SetHealth)},
		{"GET", "/v1/deployment/allocations/*", read(topic.Allocs, allocs.OfDeployment)},
		{"GET", "/v1/deployment/*", read(topic.Deployments, deploys.Get)},

		{"GET", "/v1/scaling/policies", read(topic.Jobs, jobs.ScalingPolicies)},
		{"GET", "/v1/scaling/policy/*", read(topic.Jobs, jobs.ScalingPolicy)},

		{"GET", "/v1/event/stream", events.New(run).Stream},

		{"PUT", "/v1/client/gc", allocs.RefuseAllGC},
		{"GET", "/v1/client/stats", rest.Write(node.Stats)},
		{"GET", "/v1/node/pools", read(topic.Static, node.Pools)},
		{"GET", "/v1/node/pool/*", read(topic.Static, node.Pool)},
		{"PUT", "/v1/node/*/eligibility", node.Refuse},
		{"PUT", "/v1/node/*/drain", node.Refuse},
		{"PUT", "/v1/node/*/evaluate", node.Refuse},
		{"PUT", "/v1/node/*/purge", node.Refuse},
		{"GET", "/v1/nodes", read(topic.Static, node.List)},
		{"GET", "/v1/node/*/allocations", read(topic.Allocs, allocs.OfNode)},
		{"GET", "/v1/node/*", read(topic.Static, node.Get)},

		{"GET", "/v1/services", read(topic.Services, svcs.List)},
		{"GET", "/v1/service/*", read(topic.Service, svcs.Get)},
		{"DELETE", "/v1/service/*", rest.Write(svcs.Delete)},

		{"GET", "/v1/vars", read(topic.Variables, vars.List)},
		{"GET", "/v1/var/*", read(topic.Variable, vars.Get)},
		{"PUT", "/v1/var/*", vars.Put},
		{"DELETE", "/v1/var/*", vars.Delete},

		{"GET", "/v1/agent/self", rest.Write(node.Self)},
		{"GET", "/v1/agent/members", rest.Write(node.Members)},
		{"GET", "/v1/agent/servers", rest.Write(node.Servers)},
		{"GET", "/v1/agent/monitor", node.Monitor},
		{"GET", "/v1/agent/health", rest.Write(node.Health)},
		{"GET", "/v1/status/leader", rest.Write(node.Leader)},
		{"GET", "/v1/status/peers", rest.Write(node.Peers)},
		{"GET", "/v1/namespaces", read(topic.Static, node.Namespaces)},
		{"GET", "/v1/namespace/*", read(topic.Static, node.Namespace)},
		{"GET", "/v1/regions", rest.Write(node.Regions)},
		{"GET", "/v1/metrics", node.Metrics},
		{"PUT", "/v1/search", rest.Write(find.Search)},
		{"PUT", "/v1/search/fuzzy", rest.Write(find.Fuzzy)},
		{"PUT", "/v1/system/gc", evals.Collect},
		{"PUT", "/v1/system/reconcile/summaries", node.ReconcileSummaries},
	}
}

// find returns the route of a path, and the ID in it.
func find(routes []route, method, path string) (found *route, id string, err error) {
	err = rest.ErrNotFound
	for i := range routes {
		r := &routes[i]
		id, ok := match(r.path, path)
		switch {
		case !ok:
		case r.method == method:
			return r, id, nil
		default:
			err = rest.Fail(http.StatusMethodNotAllowed, "Invalid method")
		}
	}
	return nil, "", err
}

// match returns what the pattern's star, if it has one, stands for in a path.
func match(pattern, path string) (id string, ok bool) {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return "", path == pattern
	}
	rest, ok := strings.CutPrefix(path, before)
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(rest, after)
	return id, ok && id != ""
}
