package httpapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
)

func serveVariables(t *testing.T) (*fixture, *api.Variables) {
	t.Helper()
	f := serve(t)
	return f, f.client.Variables()
}

func TestVariables(t *testing.T) {
	t.Parallel()
	f, variables := serveVariables(t)
	put := &api.Variable{Namespace: "default", Path: "nomad/jobs/web", Items: api.VariableItems{"password": "s3cr3t"}}
	created, meta, err := variables.CheckedUpdate(put, nil) // cas=0: only if it is new
	if err != nil || created.ModifyIndex == 0 || created.CreateIndex != created.ModifyIndex || created.Items["password"] != "s3cr3t" || meta.LastIndex != created.ModifyIndex {
		t.Fatalf("%+v at %+v, %v", created, meta, err)
	}
	var conflict api.ErrCASConflict
	if _, _, err = variables.CheckedUpdate(put, nil); !errors.As(err, &conflict) || conflict.Conflict.ModifyIndex != created.ModifyIndex {
		t.Errorf("a second creation: %v", err)
	}
	created.Items["password"] = "other"
	changed, _, err := variables.CheckedUpdate(created, nil)
	if err != nil || changed.ModifyIndex <= created.ModifyIndex || changed.CreateIndex != created.CreateIndex {
		t.Errorf("%+v, %v", changed, err)
	}
	if _, _, err := variables.Update(&api.Variable{Path: "a", Namespace: "prod", Items: api.VariableItems{"k": "v"}}, nil); err != nil {
		t.Error(err)
	}
	conflicting := f.do("PUT", "/v1/var/nomad/jobs/web?cas=1", strings.NewReader(`{"Items":{"k":"v"}}`))
	if index := conflicting.Header.Get("X-Nomad-Index"); conflicting.StatusCode != http.StatusConflict || index != fmt.Sprint(changed.ModifyIndex) {
		t.Errorf("a conflict with index %s: %d", index, conflicting.StatusCode)
	}
	// The index of a variable is not that of the others.
	if v, meta, err := variables.Read("nomad/jobs/web", nil); err != nil || meta.LastIndex != v.ModifyIndex {
		t.Errorf("%+v at %+v, %v", v, meta, err)
	}
	if list, meta, err := variables.List(&api.QueryOptions{Namespace: "*", PerPage: 1}); err != nil || len(list) != 1 || meta.NextToken != "prod.a" {
		t.Errorf("the first page: %v, %+v, %v", list, meta, err)
	}
	for namespace, want := range map[string]string{"": "nomad/jobs/web", "prod": "a", "*": "nomad/jobs/web a", "none": ""} {
		list, meta, err := variables.List(&api.QueryOptions{Namespace: namespace})
		var paths []string
		for _, v := range list {
			paths = append(paths, v.Path)
		}
		if got := strings.Join(paths, " "); err != nil || got != want || meta.LastIndex < changed.ModifyIndex {
			t.Errorf("namespace %q: %q at %d, %v", namespace, got, meta.LastIndex, err)
		}
	}
	if list, _, err := variables.PrefixList("nomad/x", nil); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if v, _, err := variables.Read("nomad/jobs/web", nil); err != nil || v.Items["password"] != "other" {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := variables.CheckedDelete("nomad/jobs/web", created.ModifyIndex, nil); !errors.As(err, &conflict) {
		t.Errorf("a removal of what has changed: %v", err)
	}
	for range 2 { // deleting a missing one succeeds
		if meta, err := variables.Delete("nomad/jobs/web", nil); err != nil || meta.LastIndex <= changed.ModifyIndex {
			t.Errorf("%+v, %v", meta, err)
		}
	}
	if _, _, err := variables.Read("nomad/jobs/web", nil); !errors.Is(err, api.ErrVariablePathNotFound) {
		t.Errorf("after the removal: %v", err)
	}
	if got := len(f.engine.Variables().All()); got != 1 {
		t.Errorf("%d variables are left", got)
	}
}

// A query that waits for a variable returns when it changes, and only readers
// of the variable can see its items.
func TestVariableChangeIsPublished(t *testing.T) {
	t.Parallel()
	f, variables := serveVariables(t)
	_, meta, err := variables.List(nil)
	if err != nil {
		t.Fatal(err)
	}
	events, err := f.client.EventStream().Stream(t.Context(), map[api.Topic][]string{"Variable": {"*"}}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() {
		list, now, err := variables.List(&api.QueryOptions{WaitIndex: meta.LastIndex, WaitTime: patience})
		if err == nil && (len(list) != 1 || now.LastIndex <= meta.LastIndex) {
			err = errors.New("nothing changed")
		}
		told <- err
	}()
	put, _, err := variables.Update(&api.Variable{Path: "a", Items: api.VariableItems{"k": "s3cr3t"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-told; err != nil {
		t.Error(err)
	}
	for batch := range events {
		if batch.Err != nil {
			t.Fatal(batch.Err)
		}
		if batch.IsHeartbeat() {
			continue
		}
		e := batch.Events[0]
		if e.Type != "VariableUpdated" || e.Key != "a" || e.Index != put.ModifyIndex || e.Payload["Metadata"].(map[string]any)["Items"] != nil {
			t.Errorf("%+v", e)
		}
		return
	}
}

// A template waits for a variable until it is stored.
func TestTemplatesReadStoredVariables(t *testing.T) {
	t.Parallel()
	task := newTask("main", "run_for", "1h")
	task.Templates = []*api.Template{{
		EmbeddedTmpl: new(`{{ with nomadVar "app/db" }}{{ .password }}{{ end }}`), DestPath: new("local/out"),
	}}
	f := serve(t, newJob("job", "batch", task))
	if _, _, err := f.client.Variables().Update(&api.Variable{Path: "app/db", Items: api.VariableItems{"password": "s3cr3t"}}, nil); err != nil {
		t.Fatal(err)
	}
	id := f.running("main").ID
	if got := readAll(t, f.do("GET", "/v1/client/fs/cat/"+id+"?path=main/local/out", nil).Body); got != "s3cr3t" {
		t.Errorf("rendered %q", got)
	}
}

func TestRefusedVariables(t *testing.T) {
	t.Parallel()
	f, _ := serveVariables(t)
	for name, tt := range map[string]struct {
		method, path, body string
		code               int
		text               string
	}{
		"missing":         {"GET", "/v1/var/none", "", 404, "variable not found"},
		"in all":          {"GET", "/v1/var/a?namespace=*", "", 400, "a variable is in one namespace, not in all"},
		"without items":   {"PUT", "/v1/var/a", `{"Path":"a"}`, 400, "variable missing required Items object"},
		"empty":           {"PUT", "/v1/var/a", `{"Items":{}}`, 400, "variable missing required Items object"},
		"another path":    {"PUT", "/v1/var/a?cas=7", `{"Path":"b","Items":{"k":"v"}}`, 409, `{"Namespace":"default","Path":"a","CreateIndex":0,"ModifyIndex":0,"CreateTime":0,"ModifyTime":0,"Items":null}`},
		"reserved path":   {"PUT", "/v1/var/nomad/other", `{"Items":{"k":"v"}}`, 400, `only paths at "nomad/jobs" or "nomad/job-templates" and below are valid paths under the top-level "nomad" directory`},
		"odd path":        {"PUT", "/v1/var/a%20b", `{"Items":{"k":"v"}}`, 400, `invalid path "a b"`},
		"too large":       {"PUT", "/v1/var/a", `{"Items":{"k":"` + strings.Repeat("x", 64<<10) + `"}}`, 400, "variables are limited to 64KiB in total size"},
		"no index":        {"PUT", "/v1/var/a?cas=x", `{"Items":{"k":"v"}}`, 400, `can not parse cas: strconv.ParseUint: parsing "x": invalid syntax`},
		"with a lock":     {"PUT", "/v1/var/a", `{"Items":{"k":"v"},"Lock":{"TTL":"10s"}}`, 400, "variable should not contain lock definition"},
		"two locks":       {"PUT", "/v1/var/a?lock-acquire&lock-renew", `{}`, 400, "multiple lock operations"},
		"a checked lock":  {"PUT", "/v1/var/a?lock-acquire&cas=1", `{}`, 400, "CAS can't be used with lock operations"},
		"a short lock":    {"PUT", "/v1/var/a?lock-acquire", `{"Lock":{"TTL":"9s"}}`, 400, "TTL must be between 10 seconds and 24 hours"},
		"lock of no path": {"PUT", "/v1/var/a.b?lock-acquire", `{}`, 400, `invalid path "a.b"`},
		"renew nothing":   {"PUT", "/v1/var/a?lock-renew", `{"Lock":{"ID":"x"}}`, 404, "variable doesn't exist"},
		"renew no lock":   {"PUT", "/v1/var/a?lock-renew", `{}`, 400, "missing lock ID"},
		"release nothing": {"PUT", "/v1/var/a?lock-release", `{"Lock":{"ID":"x"}}`, 404, "variable doesn't exist"},
		"release no lock": {"PUT", "/v1/var/a?lock-release", `{}`, 400, "missing lock information"},
		"release items":   {"PUT", "/v1/var/a?lock-release", `{"Lock":{"ID":"x"},"Items":{}}`, 400, "lock release operation doesn't take variable items"},
		"lost":            {"PUT", "/v1/var/a", `{"Items":{"k":"v"},"Lock":{"ID":"x"}}`, 409, "variable doesn't hold a lock"},
		"nothing to lose": {"DELETE", "/v1/var/a", "", http.StatusNoContent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := f.do(tt.method, tt.path, strings.NewReader(tt.body))
			if body := readAll(t, resp.Body); resp.StatusCode != tt.code || body != tt.text {
				t.Errorf("got %d %q, want %d %q", resp.StatusCode, body, tt.code, tt.text)
			}
		})
	}
}

// A variable can be read and changed at the port only with the token.
func TestVariablesAtThePort(t *testing.T) {
	t.Parallel()
	f, variables := serveVariables(t)
	if _, _, err := variables.Update(&api.Variable{Path: "app/db", Items: api.VariableItems{"password": "s3cr3t"}}, nil); err != nil {
		t.Fatal(err)
	}
	addr, token := f.serveTCP()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	for _, c := range []struct {
		token, method, path, body string
		code                      int
		secret                    bool
	}{
		{token, "GET", "/v1/var/app/db", "", 200, true},
		{token, "GET", "/v1/vars", "", 200, false},
		{"", "GET", "/v1/var/app/db", "", 403, false},
		{"", "GET", "/v1/vars", "", 403, false},
		{token[1:], "GET", "/v1/var/app/db", "", 403, false},
		{"", "PUT", "/v1/var/app/db?cas=0", `{"Items":{}}`, 403, false}, // a conflict would reveal the value
		{"", "PUT", "/v1/var/app/db", `{"Items":{}}`, 403, false},
		{"", "DELETE", "/v1/var/app/db", "", 403, false},
		{token, "PUT", "/v1/var/app/db", `{"Items":{"password":"s3cr3t"}}`, 200, true},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+addr+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Nomad-Token", c.token)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body := readAll(t, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != c.code || strings.Contains(body, "s3cr3t") != c.secret {
			t.Errorf("%s %s with token %q: status %d, %s", c.method, c.path, c.token, resp.StatusCode, body)
		}
	}
}

// Only responses of /v1/var contain the value of a variable.
func TestValuesAreReadInOnePlace(t *testing.T) {
	t.Parallel()
	task := newTask("main", "run_for", "1h")
	task.Templates = []*api.Template{{
		EmbeddedTmpl: new(`{{ with nomadVar "app/db" }}{{ .password }}{{ end }}`), DestPath: new("secrets/out"),
	}}
	f := serve(t, newJob("job", "service", task))
	if _, _, err := f.client.Variables().Update(&api.Variable{Path: "app/db", Items: api.VariableItems{"password": "s3cr3t"}}, nil); err != nil {
		t.Fatal(err)
	}
	alloc := f.running("main")
	ids := map[string]string{
		"job": "job", "allocation": alloc.ID, "ls": alloc.ID + "?path=main", "stat": alloc.ID + "?path=main/secrets/out",
		"cat": alloc.ID + "?path=main/secrets/out", "readat": alloc.ID + "?path=main/secrets/out&offset=0&limit=10",
	}
	for _, path := range httpapi.ReadPaths() {
		switch before, after, star := strings.Cut(path, "*"); {
		case path == "/v1/var/*", strings.HasSuffix(path, "/stream") || strings.HasSuffix(path, "/stream/*"), strings.HasSuffix(path, "/monitor"), strings.HasSuffix(path, "/outputs"),
			strings.HasSuffix(path, "/exec"), strings.HasSuffix(path, "/action"):
			continue
		case star:
			parts := strings.Split(strings.Trim(before, "/"), "/")
			path = before + ids[parts[len(parts)-1]] + after
		}
		if strings.HasPrefix(path, "/v1/client/fs/logs/") {
			path += alloc.ID + "?task=main&type=stdout&plain=true"
		}
		if body := readAll(t, f.do("GET", path, nil).Body); strings.Contains(body, "s3cr3t") {
			t.Errorf("GET %s answers with the value", path)
		}
	}
	r := f.do("PUT", "/v1/search/fuzzy", strings.NewReader(`{"Text":"app","Context":"all"}`))
	if body := readAll(t, r.Body); strings.Contains(body, "s3cr3t") {
		t.Errorf("a search answers with %s", body)
	}
}
