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

// timeless takes deadlines, as connections do.
type timeless struct{ *httptest.ResponseRecorder }

func (timeless) SetReadDeadline(time.Time) error { return nil }

// FuzzServe sends whatever to a server: it must answer, with a status of the
// API, and without a success for what is not there.
func FuzzServe(f *testing.F) {
	e := engine.New(engine.Config{DataDir: f.TempDir(), Drivers: map[string]drivers.Driver{}, Node: &taskenv.Node{}})
	s := httpapi.New(e, httpapi.Config{Node: &taskenv.Node{ID: nodeID, Region: "global"}})
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
		{"DELETE", "//", "%zz&&=", "null"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", strings.NewReader(body))
		// A query that blocks is none of a stranger's faults: it must not here.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r = r.WithContext(ctx)
		r.Method, r.URL = method, &url.URL{Path: path, RawQuery: query}
		w := httptest.NewRecorder()
		s.ServeHTTP(timeless{w}, r)
		switch w.Code {
		case http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusInternalServerError:
		default:
			t.Errorf("status %d", w.Code)
		}
		if w.Code == http.StatusOK && (strings.HasPrefix(path, "/v1/client/") || method == "DELETE") {
			t.Errorf("a success of what cannot be: %s", w.Body)
		}
	})
}
