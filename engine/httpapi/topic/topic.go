// Package topic names what the queries of Nomad's HTTP API ask for. The objects
// of a topic have an index together.
package topic

import "taskrun/engine/fold"

// Topic names objects that have an index together.
type Topic = fold.Topic

// First is the index of what has not changed since the run began.
const First = fold.FirstIndex

// Static is what never changes.
func Static(string) Topic { return Topic{} }

// The topics of lists take any ID.

// Jobs is the list of jobs.
func Jobs(string) Topic { return Topic{Table: fold.Jobs} }

// Allocs is the list of allocations.
func Allocs(string) Topic { return Topic{Table: fold.Allocations} }

// Evaluations is the list of evaluations.
func Evaluations(string) Topic { return Topic{Table: fold.Evaluations} }

// Deployments is the list of deployments.
func Deployments(string) Topic { return Topic{Table: fold.Deployments} }

// Services is the list of services.
func Services(string) Topic { return Topic{Table: fold.Services} }

// Variables is the list of variables.
func Variables(string) Topic { return Topic{Table: fold.Variables} }

// Job is a job.
func Job(id string) Topic { return Topic{Table: fold.Jobs, Key: id} }

// JobAllocs are the allocations of a job.
func JobAllocs(id string) Topic { return Topic{Table: fold.AllocationsOfJob, Key: id} }

// JobEvaluations are the evaluations of a job.
func JobEvaluations(id string) Topic { return Topic{Table: fold.EvaluationsOfJob, Key: id} }

// JobDeployments are the deployments of a job.
func JobDeployments(id string) Topic { return Topic{Table: fold.DeploymentsOfJob, Key: id} }

// Alloc is an allocation.
func Alloc(id string) Topic { return Topic{Table: fold.Allocations, Key: id} }

// Evaluation is an evaluation.
func Evaluation(id string) Topic { return Topic{Table: fold.Evaluations, Key: id} }

// Service is a service, by its name.
func Service(name string) Topic { return Topic{Table: fold.Services, Key: name} }

// Variable is a variable, by its path.
func Variable(path string) Topic { return Topic{Table: fold.Variables, Key: path} }
