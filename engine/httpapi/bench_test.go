package httpapi_test

import (
	"fmt"
	"io"
	"testing"
)

// BenchmarkRequest measures requests for a job of a hundred allocations.
func BenchmarkRequest(b *testing.B) {
	job := newJob("job", "batch", newTask("t", "run_for", "1h"))
	*job.TaskGroups[0].Count = 100
	f := serve(b, job)
	var alloc string
	for range 100 {
		alloc = f.running("t").ID
	}
	for name, path := range map[string]string{
		"job": "/v1/job/job", "jobs": "/v1/jobs", "allocations": "/v1/allocations", "allocation": "/v1/allocation/" + alloc,
		"stat": "/v1/client/fs/stat/" + alloc + "?path=t/local", "regions": "/v1/regions",
	} {
		b.Run(name, func(b *testing.B) {
			f.bench(b, path)
		})
	}
}

// bench measures a request.
func (f *fixture) bench(b *testing.B, path string) {
	b.ReportAllocs()
	for b.Loop() {
		resp, err := f.http.Get("http://127.0.0.1" + path)
		if err != nil || resp.StatusCode != 200 {
			b.Fatalf("%v, %v", resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

// BenchmarkManyJobs measures requests to a resident engine of a thousand jobs.
func BenchmarkManyJobs(b *testing.B) {
	const n = 1000
	f := serveResident(b)
	for i := range n {
		job := newJob(fmt.Sprintf("job-%04d", i), "service", newTask("t", "run_for", "1h"))
		if _, _, err := f.client.Jobs().Register(job, nil); err != nil {
			b.Fatal(err)
		}
	}
	for range n {
		f.running("t")
	}
	for name, path := range map[string]string{
		"jobs": "/v1/jobs", "prefix": "/v1/jobs?prefix=job-0500", "job": "/v1/job/job-0500", "summary": "/v1/job/job-0500/summary",
		"allocations": "/v1/allocations", "of job": "/v1/job/job-0500/allocations", "evaluations": "/v1/evaluations",
		"deployments": "/v1/deployments", "deployment": "/v1/job/job-0500/deployment", "policies": "/v1/scaling/policies",
	} {
		b.Run(name, func(b *testing.B) { f.bench(b, path) })
	}
}
