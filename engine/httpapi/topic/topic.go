// Package topic names what the queries of Nomad's HTTP API ask for. The objects
// of a topic have an index together.
package topic

// Topic names objects that have an index together.
type Topic string

// First is the index of what has not changed since the server began. It is not
// 0: clients send it back, and 0 means not to wait.
const First = 1

// Static is what never changes.
func Static(string) Topic { return "" }

// The topics of lists take any ID.

// Jobs is the list of jobs.
func Jobs(string) Topic { return "jobs" }

// Allocs is the list of allocations.
func Allocs(string) Topic { return "allocations" }

// Evaluations is the list of evaluations.
func Evaluations(string) Topic { return "evaluations" }

// Deployments is the list of deployments.
func Deployments(string) Topic { return "deployments" }

// Services is the list of services.
func Services(string) Topic { return "services" }

// Variables is the list of variables.
func Variables(string) Topic { return "variables" }

// Job is a job.
func Job(id string) Topic { return Topic("job/" + id) }

// JobAllocs are the allocations of a job.
func JobAllocs(id string) Topic { return Topic("job-allocations/" + id) }

// JobEvaluations are the evaluations of a job.
func JobEvaluations(id string) Topic { return Topic("job-evaluations/" + id) }

// JobDeployments are the deployments of a job.
func JobDeployments(id string) Topic { return Topic("deployment/" + id) }

// Alloc is an allocation.
func Alloc(id string) Topic { return Topic("allocation/" + id) }

// Evaluation is an evaluation.
func Evaluation(id string) Topic { return Topic("evaluation/" + id) }

// Service is a service, by its name.
func Service(name string) Topic { return Topic("service/" + name) }

// Variable is a variable, by its path.
func Variable(path string) Topic { return Topic("variable/" + path) }
