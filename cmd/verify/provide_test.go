package verify

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/jobspec/stub"
)

// The namespaces of the job and of the variables are created before the variables,
// and a refusal by the agent is an error.
func TestProvide(t *testing.T) {
	t.Parallel()
	stubs, diagnostics := stub.Parse("taskrun.hcl", []byte(`
nomad_variable "a/b@ops" { k = "v" }
nomad_variable "c" { k = "v" }`))
	if stubs == nil {
		t.Fatal(diagnostics)
	}
	for refused, want := range map[string]string{
		"": "", "/v1/namespace": "cannot create namespace ", "/v1/var/": "cannot create variable ",
	} {
		var asked []string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			asked = append(asked, r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("namespace"))
			if refused != "" && strings.HasPrefix(r.URL.Path, refused) {
				http.Error(w, "no", http.StatusInternalServerError)
				return
			}
			_, _ = w.Write(text)
		}))
		c, err := api.NewClient(&api.Config{Address: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		err = Provide(t.Context(), &client.Server{API: c}, &api.Job{Namespace: new("team")}, stubs)
		s.Close()
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q is refused: error %v, want %q", refused, err, want)
		}
		if refused != "" {
			continue
		}
		slices.Sort(asked[:2])
		slices.Sort(asked[2:])
		if want := []string{"PUT /v1/namespace ", "PUT /v1/namespace ", "PUT /v1/var/a/b ops", "PUT /v1/var/c default"}; !slices.Equal(asked, want) {
			t.Errorf("got  %q\nwant %q", asked, want)
		}
	}
}
