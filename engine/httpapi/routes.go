package httpapi

import (
	"net/http"
	"strings"
)

// handler answers a request, or returns an error before it has written
// anything.
type handler func(*Server, http.ResponseWriter, *request) error

// routes is all that is served. Paths are matched decoded, in this order; the
// star stands for an ID, which may contain slashes. A job whose ID ends like a
// path of the table can therefore not be reached, which is so in Nomad as well.
var routes = []struct {
	method, path string
	handler
}{
	{"GET", "/v1/jobs", read(jobsTopic, (*Server).listJobs)},
	{"GET", "/v1/job/*/allocations", read(jobAllocsTopic, (*Server).jobAllocations)},
	{"GET", "/v1/job/*/evaluations", read(jobEvaluationsTopic, (*Server).jobEvaluations)},
	{"GET", "/v1/job/*/deployments", read(deploymentTopic, (*Server).jobDeployments)},
	{"GET", "/v1/job/*/deployment", read(deploymentTopic, (*Server).jobDeployment)},
	{"GET", "/v1/job/*/summary", read(jobTopic, (*Server).jobSummary)},
	{"GET", "/v1/job/*/versions", read(jobTopic, (*Server).jobVersions)},
	{"PUT", "/v1/job/*/tag", (*Server).tagVersion},
	{"DELETE", "/v1/job/*/tag", (*Server).untagVersion},
	{"GET", "/v1/job/*/scale", read(jobAllocsTopic, (*Server).scaleStatus)},
	{"GET", "/v1/job/*/submission", read(jobTopic, (*Server).jobSubmission)},
	{"GET", "/v1/job/*/services", read(servicesTopic, (*Server).jobServices)},
	{"GET", "/v1/job/*/actions", write((*Server).listActions)},
	{"GET", "/v1/job/*/action", (*Server).runAction},
	{"PUT", "/v1/job/*/evaluate", write((*Server).evaluateJob)},
	{"PUT", "/v1/job/*/periodic/force", write((*Server).forcePeriodic)},
	{"PUT", "/v1/job/*/scale", write((*Server).scaleJob)},
	{"PUT", "/v1/job/*/revert", write((*Server).revertJob)},
	{"PUT", "/v1/job/*/plan", withJob((*Server).planJob)},
	{"PUT", "/v1/validate/job", withJob((*Server).validateJob)},
	{"PUT", "/v1/job/*/dispatch", write((*Server).dispatchJob)},
	{"PUT", "/v1/jobs/parse", withJob((*Server).parseJob)},
	{"PUT", "/v1/jobs", withJob((*Server).registerJob)},
	{"PUT", "/v1/job/*", withJob((*Server).registerJob)},
	{"DELETE", "/v1/job/*", write((*Server).stopJob)},
	{"GET", "/v1/job/*", read(jobTopic, (*Server).getJob)},

	{"GET", "/v1/allocations", read(allocsTopic, (*Server).listAllocations)},
	{"GET", "/v1/allocation/*/services", read(allocTopic, (*Server).allocationServices)},
	{"PUT", "/v1/allocation/*/stop", write((*Server).stopAllocation)},
	{"GET", "/v1/allocation/*", read(allocTopic, (*Server).getAllocation)},
	{"GET", "/v1/client/allocation/*/checks", read(allocTopic, (*Server).allocationChecks)},
	{"GET", "/v1/client/allocation/*/exec", (*Server).exec},
	{"GET", "/v1/client/allocation/*/stats", write((*Server).allocationStats)},
	{"PUT", "/v1/client/allocation/*/restart", write((*Server).restartAllocation)},
	{"PUT", "/v1/client/allocation/*/signal", write((*Server).signalAllocation)},
	{"GET", "/v1/client/fs/logs/*", (*Server).logs},
	{"GET", "/v1/client/fs/ls/*", write((*Server).listFiles)},
	{"GET", "/v1/client/fs/stat/*", write((*Server).statFile)},
	{"GET", "/v1/client/fs/cat/*", (*Server).catFile},
	{"GET", "/v1/client/fs/readat/*", (*Server).readFileAt},
	{"GET", "/v1/client/fs/stream/*", (*Server).streamFile},

	{"GET", "/v1/client/allocation/*/pause", (*Server).refusePause},
	{"PUT", "/v1/client/allocation/*/pause", (*Server).refusePause},
	{"PUT", "/v1/client/allocation/*/gc", (*Server).refuseAllocGC},

	{"GET", "/v1/evaluations/count", read(evaluationsTopic, (*Server).countEvaluations)},
	{"DELETE", "/v1/evaluations", (*Server).refuseEvaluations},
	{"GET", "/v1/evaluations", read(evaluationsTopic, (*Server).listEvaluations)},
	{"GET", "/v1/evaluation/*/allocations", read(allocsTopic, (*Server).evaluationAllocations)},
	{"GET", "/v1/evaluation/*", read(evaluationTopic, (*Server).getEvaluation)},

	{"GET", "/v1/deployments", read(deploymentsTopic, (*Server).listDeployments)},
	{"PUT", "/v1/deployment/promote/*", write((*Server).promoteDeployment)},
	{"PUT", "/v1/deployment/unblock/*", (*Server).refuseUnblock},
	{"PUT", "/v1/deployment/pause/*", write((*Server).pauseDeployment)},
	{"PUT", "/v1/deployment/fail/*", write((*Server).failDeployment)},
	{"PUT", "/v1/deployment/allocation-health/*", write((*Server).setHealth)},
	{"GET", "/v1/deployment/allocations/*", read(allocsTopic, (*Server).deploymentAllocations)},
	{"GET", "/v1/deployment/*", read(deploymentsTopic, (*Server).getDeployment)},

	{"GET", "/v1/scaling/policies", read(jobsTopic, (*Server).listScalingPolicies)},
	{"GET", "/v1/scaling/policy/*", read(jobsTopic, (*Server).getScalingPolicy)},

	{"GET", "/v1/event/stream", (*Server).eventStream},

	{"PUT", "/v1/client/gc", (*Server).refuseClientGC},
	{"GET", "/v1/client/stats", write((*Server).clientStats)},
	{"GET", "/v1/node/pools", read(static, (*Server).listPools)},
	{"GET", "/v1/node/pool/*", read(static, (*Server).getPool)},
	{"PUT", "/v1/node/*/eligibility", (*Server).refuseNode},
	{"PUT", "/v1/node/*/drain", (*Server).refuseNode},
	{"PUT", "/v1/node/*/evaluate", (*Server).refuseNode},
	{"PUT", "/v1/node/*/purge", (*Server).refuseNode},
	{"GET", "/v1/nodes", read(static, (*Server).listNodes)},
	{"GET", "/v1/node/*/allocations", read(allocsTopic, (*Server).nodeAllocations)},
	{"GET", "/v1/node/*", read(static, (*Server).getNode)},

	{"GET", "/v1/services", read(servicesTopic, (*Server).listServices)},
	{"GET", "/v1/service/*", read(serviceTopic, (*Server).getService)},
	{"DELETE", "/v1/service/*", write((*Server).deleteService)},

	{"GET", "/v1/vars", read(variablesTopic, (*Server).listVariables)},
	{"GET", "/v1/var/*", read(variableTopic, (*Server).getVariable)},
	{"PUT", "/v1/var/*", (*Server).putVariable},
	{"DELETE", "/v1/var/*", (*Server).deleteVariable},

	{"GET", "/v1/agent/self", write((*Server).agentSelf)},
	{"GET", "/v1/agent/members", write((*Server).agentMembers)},
	{"GET", "/v1/agent/servers", write((*Server).agentServers)},
	{"GET", "/v1/agent/monitor", (*Server).monitor},
	{"GET", "/v1/agent/health", write((*Server).agentHealth)},
	{"GET", "/v1/status/leader", write((*Server).statusLeader)},
	{"GET", "/v1/status/peers", write((*Server).statusPeers)},
	{"GET", "/v1/namespaces", read(static, (*Server).listNamespaces)},
	{"GET", "/v1/namespace/*", read(static, (*Server).getNamespace)},
	{"GET", "/v1/regions", write((*Server).listRegions)},
	{"GET", "/v1/metrics", (*Server).metrics},
	{"PUT", "/v1/search", write((*Server).search)},
	{"PUT", "/v1/search/fuzzy", write((*Server).fuzzySearch)},
	{"PUT", "/v1/system/gc", (*Server).collectGarbage},
	{"PUT", "/v1/system/reconcile/summaries", (*Server).reconcileSummaries},
}

// find returns the handler of a path, its route, and the ID in it.
func find(method, path string) (serve handler, route, id string, err error) {
	err = errNotFound
	for _, r := range routes {
		id, ok := match(r.path, path)
		switch {
		case !ok:
		case r.method == method:
			return r.handler, r.path, id, nil
		default:
			err = fail(http.StatusMethodNotAllowed, "Invalid method")
		}
	}
	return nil, "", "", err
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
