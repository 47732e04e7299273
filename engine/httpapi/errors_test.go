package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

func TestErrorsAreNomads(t *testing.T) {
	t.Parallel()
	waiting := newTask("waiting", "run_for", "1h")
	main := newTask("main", "run_for", "1h")
	waiting.Lifecycle = &api.TaskLifecycle{Hook: "poststop"}
	f := serve(t, newJob("job", "batch", main, waiting))
	alloc := f.running("main").ID
	unknown := "00000000-0000-0000-0000-000000000000"
	logs := "/v1/client/fs/logs/" + alloc
	const short, odd = "index error: UUID must be 36 characters", "index error: Input (without hyphens) must be even length"
	for name, tt := range map[string]struct {
		method, path, body string
		code               int
		text               string
	}{
		"unknown path":            {"GET", "/v1/nonsense", "", 404, ""},
		"root":                    {"GET", "/", "", 404, ""},
		"without an ID":           {"GET", "/v1/job/", "", 404, ""},
		"wrong method":            {"DELETE", "/v1/jobs", "", 405, "Invalid method"},
		"POST of an object":       {"POST", "/v1/allocation/" + alloc, "{}", 405, "Invalid method"},
		"GET that would restart":  {"GET", "/v1/client/allocation/" + alloc + "/restart", "", 405, "Invalid method"},
		"unknown region":          {"GET", "/v1/jobs?region=mars", "", 500, "No path to region"},
		"index":                   {"GET", "/v1/jobs?index=x", "", 400, "Invalid index"},
		"wait":                    {"GET", "/v1/jobs?index=1&wait=x", "", 400, "Invalid wait time"},
		"filter":                  {"GET", "/v1/jobs?filter=Nothing+==+1", "", 400, `failed to read result page: error finding value in datum: /Nothing at part 0: couldn't find key: struct field with name "Nothing"`},
		"filter and status":       {"GET", "/v1/evaluations?status=complete&filter=Name", "", 400, "Filter expression cannot be used with other filter parameters"},
		"per_page":                {"GET", "/v1/jobs?per_page=-1", "", 400, "Expect a number for `per_page` query string parameter"},
		"job":                     {"GET", "/v1/job/nope", "", 404, "job not found"},
		"job of a namespace":      {"GET", "/v1/job/job?namespace=other", "", 404, "job not found"},
		"summary":                 {"GET", "/v1/job/nope/summary", "", 404, "job not found"},
		"dispatch":                {"PUT", "/v1/job/nope/dispatch", "{}", 500, "parameterized job not found"},
		"dispatch of another":     {"PUT", "/v1/job/job/dispatch", "{}", 500, `Specified job "job" is not a parameterized job`},
		"empty body":              {"PUT", "/v1/search", "", 400, "Request body is empty"},
		"node":                    {"GET", "/v1/node/" + unknown, "", 404, "node not found"},
		"alloc":                   {"GET", "/v1/allocation/" + unknown, "", 404, "alloc not found"},
		"checks of an alloc":      {"GET", "/v1/allocation/" + unknown + "/checks", "", 404, `Unknown allocation "` + unknown + `"`},
		"DELETE of allocations":   {"DELETE", "/v1/job/job/allocations", "", 405, "Invalid method"},
		"short: alloc":            {"GET", "/v1/allocation/" + alloc[:8], "", 500, "alloc lookup failed: " + short},
		"short: services":         {"GET", "/v1/allocation/" + alloc[:8] + "/services", "", 500, "alloc lookup failed: " + short},
		"short: evaluation":       {"GET", "/v1/evaluation/x", "", 500, "failed to lookup eval: eval lookup failed: " + short},
		"short: its allocs":       {"GET", "/v1/evaluation/x/allocations", "", 500, short},
		"short: deployment":       {"GET", "/v1/deployment/x", "", 500, "deployment lookup failed: " + short},
		"short: its allocations":  {"GET", "/v1/deployment/allocations/x", "", 500, short},
		"short: node":             {"GET", "/v1/node/x", "", 500, "node lookup failed: " + short},
		"prefix: allocs":          {"GET", "/v1/allocations?prefix=0", "", 500, "alloc lookup failed: " + odd},
		"prefix: evaluations":     {"GET", "/v1/evaluations?prefix=0", "", 500, "eval lookup failed: " + odd},
		"prefix: deployments":     {"GET", "/v1/deployments?prefix=0", "", 500, odd},
		"prefix: nodes":           {"GET", "/v1/nodes?prefix=0", "", 500, "node lookup failed: " + odd},
		"prefix: dashes":          {"GET", "/v1/allocations?prefix=0-0-0-0-0-0", "", 500, `alloc lookup failed: index error: UUID should have maximum of 4 "-"; got 5`},
		"prefix: letters":         {"GET", "/v1/allocations?prefix=xx", "", 500, "alloc lookup failed: index error: Invalid UUID: encoding/hex: invalid byte: U+0078 'x'"},
		"prefix: length":          {"GET", "/v1/allocations?prefix=00" + unknown, "", 500, "alloc lookup failed: index error: Invalid UUID length. UUID have 36 characters; got 38"},
		"checks":                  {"GET", "/v1/client/allocation/" + unknown + "/checks", "", 404, `Unknown allocation "` + unknown + `"`},
		"restart":                 {"PUT", "/v1/client/allocation/" + unknown + "/restart", "{}", 404, `Unknown allocation "` + unknown + `"`},
		"restart of a task":       {"PUT", "/v1/client/allocation/" + alloc + "/restart", `{"TaskName":"nope"}`, 500, "Could not find task runner for task: nope"},
		"unknown signal":          {"PUT", "/v1/client/allocation/" + alloc + "/signal", `{"Task":"main","Signal":"HUP"}`, 400, `unknown signal "HUP": write "SIGHUP"`},
		"signal":                  {"PUT", "/v1/client/allocation/" + alloc + "/signal", `{"Task":"nope","Signal":"SIGUSR1"}`, 500, "Task not found"},
		"exec without websocket":  {"GET", "/v1/client/allocation/" + alloc + "/exec", "", 400, "cannot run a command: the request is not a websocket handshake"},
		"logs: alloc":             {"GET", "/v1/client/fs/logs/" + unknown + "?task=main&type=stdout", "", 404, `Unknown allocation "` + unknown + `"`},
		"logs: no task":           {"GET", logs + "?type=stdout", "", 400, "must provide task name"},
		"logs: no type":           {"GET", logs + "?task=main", "", 400, "must provide log type (stdout/stderr)"},
		"logs: type":              {"GET", logs + "?task=main&type=x", "", 400, "must provide log type (stdout/stderr)"},
		"logs: origin":            {"GET", logs + "?task=main&type=stdout&origin=x", "", 400, "origin must be start or end"},
		"logs: unknown task":      {"GET", logs + "?task=nope&type=stdout", "", 400, `unknown task name "nope"`},
		"logs: task that escapes": {"GET", logs + "?task=..%2F..%2Fetc%2Fpasswd&type=stdout", "", 400, `unknown task name "../../etc/passwd"`},
		"logs: not started":       {"GET", logs + "?task=waiting&type=stdout", "", 404, `task "waiting" not started yet. No logs available`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := f.do(tt.method, tt.path, strings.NewReader(tt.body))
			if body := readAll(t, resp.Body); resp.StatusCode != tt.code || body != tt.text {
				t.Errorf("got %d %q, want %d %q", resp.StatusCode, body, tt.code, tt.text)
			}
			if resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("content type %q", resp.Header.Get("Content-Type"))
			}
		})
	}
}

func TestWebPagesAreRefused(t *testing.T) {
	t.Parallel()
	f := serve(t)
	for name, header := range map[string][]string{
		"another host":   {"Host", "evil.example:80"},
		"an origin":      {"Origin", "http://evil.example"},
		"the own origin": {"Origin", "http://127.0.0.1"},
		"another site":   {"Sec-Fetch-Site", "cross-site"},
	} {
		if resp := f.do("GET", "/v1/jobs", nil, header...); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost", "localhost:4646", "[::1]:4646"} {
		if resp := f.do("GET", "/v1/jobs", nil, "Host", host); resp.StatusCode != http.StatusOK {
			t.Errorf("host %s: status %d", host, resp.StatusCode)
		}
	}
}

func TestLargeRequestsAreRefused(t *testing.T) {
	t.Parallel()
	f := serve(t)
	resp := f.do("PUT", "/v1/search", strings.NewReader(`{"Prefix":"`+strings.Repeat("x", 2<<20)+`"}`))
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("body: status %d", resp.StatusCode)
	}
	resp = f.do("GET", "/v1/jobs", nil, "X-Nomad-Token", strings.Repeat("x", 1<<20))
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("header: status %d", resp.StatusCode)
	}
}
