package httpapi_test

import (
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
			b.ReportAllocs()
			for b.Loop() {
				resp, err := f.http.Get("http://127.0.0.1" + path)
				if err != nil || resp.StatusCode != 200 {
					b.Fatalf("%v, %v", resp, err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
}
