package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"taskrun/drivers"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/jobspec/taskenv"
)

// timeless accepts deadlines, like connections.
type timeless struct{ *httptest.ResponseRecorder }

func (timeless) SetReadDeadline(time.Time) error  { return nil }
func (timeless) SetWriteDeadline(time.Time) error { return nil }

// FuzzServe sends arbitrary requests to a server: it must respond, with a
// status of the API, and without claiming success for missing objects.
func FuzzServe(f *testing.F) {
	e := engine.New(engine.Config{DataDir: f.TempDir(), Drivers: map[string]drivers.Driver{}, Node: &taskenv.Node{}})
	s := httpapi.New(e, httpapi.Config{Node: &taskenv.Node{ID: nodeID, Region: "global"}, Preflight: rules(&taskenv.Node{})})
	f.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			f.Error(err)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			f.Error(err)
		}
	})
	for _, seed := range [][4]string{
		{"GET", "/v1/jobs", "prefix=a&per_page=1&next_token=x&index=1&wait=1ms", ""},
		{"GET", "/v1/job/a/b/summary", "pretty", ""},
		{"GET", "/v1/client/fs/logs/../../etc", "task=..&type=stdout&offset=-1&origin=end", ""},
		{"GET", "/v1/client/allocation/x/exec", "command=[\"a\"]&tty=1", ""},
		{"PUT", "/v1/search", "", `{"Prefix":"a","Context":"all"}`},
		{"PUT", "/v1/client/allocation/x/signal", "", `{"Signal":"SIGHUP"}`},
		{"PUT", "/v1/job/x/dispatch", "", `{"Payload":"eA==","Meta":{"a":"b"}}`},
		{"GET", "/v1/jobs", "filter=ID+==+a+and+(Meta.x+is+empty)&reverse=true&per_page=2", ""},
		{"GET", "/v1/metrics", "format=prometheus", ""},
		{"GET", "/v1/agent/monitor", "log_level=trace&log_json=true&plain=true", ""},
		{"GET", "/v1/event/stream", "topic=Job:a&index=9", ""},
		{"GET", "/v1/job/x/action", "action=a&allocID=b&task=c", ""},
		{"GET", "/v1/node/" + nodeID + "/allocations", "", ""},
		{"PUT", "/v1/var/a/b", "cas=0", `{"Items":{"k":"v"}}`},
		{"PUT", "/v1/search/fuzzy", "", `{"Text":"ab","Context":"all"}`},
		{"PUT", "/v1/jobs", "", `{"Job":{"ID":"x","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t"}]}]}}`},
		{"PUT", "/v1/jobs/parse", "", `{"JobHCL":"job \"x\" { group \"g\" {} }","Variables":"a=1","Canonicalize":true}`},
		{"PUT", "/v1/validate/job", "", `{"Job":{"TaskGroups":[null,{"Volumes":{"a":null}}]}}`},
		{"PUT", "/v1/job/x/plan", "", `{"Diff":true,"Job":{"ID":"x","Periodic":{},"Constraints":[{}]}}`},
		{"DELETE", "/v1/var/a/b", "cas=7", ""},
		{"PUT", "/v1/var/a/b", "lock-acquire", `{"Lock":{"ID":"x","TTL":"10s","LockDelay":"1ms"},"Items":{"k":"v"}}`},
		{"PUT", "/v1/var/a/b", "lock-renew", `{"Lock":{"ID":"x"}}`},
		{"PUT", "/v1/var/a/b", "lock-release&namespace=n", `{"Lock":{"ID":"x"}}`},
		{"DELETE", "//", "%zz&&=", "null"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", strings.NewReader(body))
		// A blocking query is legitimate, but must not block here.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r = r.WithContext(ctx)
		r.Method, r.URL = method, &url.URL{Path: path, RawQuery: query}
		w := httptest.NewRecorder()
		s.ServeHTTP(timeless{w}, r)
		switch w.Code {
		case http.StatusOK, http.StatusNoContent, http.StatusConflict, http.StatusNotImplemented, http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusInternalServerError:
		case http.StatusTemporaryRedirect:
			if to := w.Header().Get("Location"); !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(to, `/\`) {
				t.Errorf("it leads to %q", to)
			}
		default:
			t.Errorf("status %d", w.Code)
		}
		there := path == "/v1/client/stats" || strings.HasPrefix(path, "/v1/job/") // stopping a missing job is a no-op
		if w.Code == http.StatusOK && !there && (strings.HasPrefix(path, "/v1/client/") || method == "DELETE") {
			t.Errorf("a success of what cannot be: %s", w.Body)
		}
	})
}
