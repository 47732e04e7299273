package httpapi_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/workload"
)

// A change that cannot be kept is not made, and no answer claims that it was.
func TestStateThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	f.ask("PUT", "/v1/namespace", `{"Name":"kept"}`, 200, "")
	f.ask("PUT", "/v1/volume/host/create", `{"Volume":{"Name":"kept","PluginID":"mkdir"}}`, 200, "")
	volume := get[[]struct{ ID string }](f, "/v1/volumes?type=host")[0].ID
	if err := f.engine.Registry().Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"PUT", "/v1/namespace", `{"Name":"new"}`},
		{"DELETE", "/v1/namespace/kept", ""},
		{"PUT", "/v1/node/pools", `{"Name":"new"}`},
		{"PUT", "/v1/operator/scheduler/configuration", `{"SchedulerAlgorithm":"spread"}`},
		{"PUT", "/v1/node/" + nodeID + "/eligibility", `{"Eligibility":"ineligible"}`},
		{"PUT", "/v1/client/metadata", `{"Meta":{"new":"x"}}`},
		{"PUT", "/v1/volume/host/create", `{"Volume":{"Name":"new","PluginID":"mkdir"}}`},
		{"DELETE", "/v1/volume/host/" + volume, ""},
		{"PUT", "/v1/var/new", `{"Items":{"k":"v"}}`},
	} {
		f.ask(c[0], c[1], c[2], 500, "cannot write the state of the agent")
	}
	f.ask("GET", "/v1/namespace/kept", "", 200, "kept")
	for _, path := range []string{"/v1/namespaces", "/v1/node/pools", "/v1/volumes?type=host", "/v1/vars", "/v1/client/metadata"} {
		if body := readAll(t, f.do("GET", path, nil).Body); strings.Contains(body, "new") {
			t.Errorf("%s: %s", path, body)
		}
	}
	f.ask("GET", "/v1/operator/scheduler/configuration", "", 200, `"binpack"`)
	f.ask("GET", "/v1/node/"+nodeID, "", 200, `"SchedulingEligibility":"eligible"`)
}

// Without the key of workload identities there is no public key either.
func TestKeyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := serveWith(t, func(cfg *httpapi.Config) { cfg.Keys = workload.OpenKeyring(file) })
	f.ask("GET", "/.well-known/jwks.json", "", 500, "cannot use the key of workload identities")
}

// A server that has ended answers that.
func TestRequestAfterTheEnd(t *testing.T) {
	t.Parallel()
	f := serve(t)
	if err := f.server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/jobs", nil)
	r.Host = "localhost"
	answer := httptest.NewRecorder()
	f.server.ServeHTTP(answer, r)
	if answer.Code != 500 || !strings.Contains(answer.Body.String(), "the run has ended") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}
