package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"taskrun/drivers"
)

// answer is a status and a body.
type answer struct {
	status int
	body   string
}

func refused(status int, why string) answer {
	return answer{status, fmt.Sprintf(`{"message":%q}`, why)}
}

// engine answers requests, "METHOD /path", with one answer after the other; the
// last one stays.
type engine struct {
	*client.Client

	mu      sync.Mutex
	answers map[string][]answer
	asked   []string // with the filters of lists
	bodies  []string // of POST requests
}

func newEngine(t *testing.T, answers map[string][]answer) *engine {
	t.Helper()
	e := &engine{answers: answers}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	var err error
	if e.Client, err = (Endpoint{Host: "tcp://" + server.Listener.Addr().String(), API: "1.51"}).Client(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v1.51")
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	defer e.mu.Unlock()
	request := r.Method + " " + path
	e.asked = append(e.asked, strings.TrimSpace(request+" "+r.URL.Query().Get("filters")))
	if r.Method == http.MethodPost {
		e.bodies = append(e.bodies, string(body))
	}
	a := refused(http.StatusTeapot, "unexpected: "+request)
	if left := e.answers[request]; len(left) > 0 {
		a = left[0]
		if len(left) > 1 {
			e.answers[request] = left[1:]
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// expect compares an error and the requests.
func (e *engine) expect(t *testing.T, what string, err error, want string, asked ...string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v, want %q", what, err, want)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(e.asked, asked) {
		t.Errorf("%s: asked\n%q, want\n%q", what, e.asked, asked)
	}
}

// A network is made for a run, or is that of the run already. One of another run
// is not used.
func TestMakeNetwork(t *testing.T) {
	t.Parallel()
	const get, create = "GET /networks/n", "POST /networks/create"
	found := func(labels string) answer { return answer{200, `{"Name":"n","Id":"1","Labels":{` + labels + `}}`} }
	missing := refused(404, "no such network")
	for name, tt := range map[string]struct {
		answers   map[string][]answer
		run, err  string
		unchanged bool
	}{
		"made":             {map[string][]answer{get: {missing}, create: {{201, `{"Id":"1"}`}}}, "r", "", false},
		"found":            {map[string][]answer{get: {found(`"taskrun.run":"earlier","taskrun.alloc_dir":"/dir"`)}}, "earlier", "", true},
		"of another run":   {map[string][]answer{get: {found(`"taskrun.run":"r","taskrun.alloc_dir":"/other"`)}}, "", `cannot make network "n": the engine has one of that name, which is not of this run; remove it, or give the network in the job another name`, true},
		"of somebody else": {map[string][]answer{get: {found("")}}, "", "which is not of this run", true},
		"no answer":        {map[string][]answer{get: {refused(500, "broken")}}, "", `cannot look for network "n": `, true},
		"not made":         {map[string][]answer{get: {missing}, create: {refused(500, "broken")}}, "", `cannot make network "n": `, false},
	} {
		e := newEngine(t, tt.answers)
		run, err := MakeNetwork(t.Context(), e.Client, "n", "r", "/dir")
		asked := []string{get, create}
		if tt.unchanged {
			asked = asked[:1]
		}
		e.expect(t, name, err, tt.err, asked...)
		if run != tt.run {
			t.Errorf("%s: it is that of run %q, want %q", name, run, tt.run)
		}
		for _, body := range e.bodies {
			for _, part := range []string{`"Name":"n"`, `"Driver":"bridge"`, `"taskrun.run":"r"`, `"taskrun.alloc_dir":"/dir"`} {
				if !strings.Contains(body, part) {
					t.Errorf("%s: %s is not in %s", name, part, body)
				}
			}
		}
	}
}

// A network of taskrun is removed once no container uses it.
func TestRemoveUnused(t *testing.T) {
	t.Parallel()
	const get, remove = "GET /networks/n", "DELETE /networks/1"
	mine := answer{200, `{"Name":"n","Id":"1","Labels":{"taskrun.run":"r"}}`}
	for name, tt := range map[string]struct {
		found, removed answer
		err            string
		asked          []string
	}{
		"unused":           {mine, answer{status: 204}, "", []string{get, remove}},
		"gone meanwhile":   {mine, refused(404, "gone"), "", []string{get, remove}},
		"not removed":      {mine, refused(500, "broken"), `cannot remove network "n": `, []string{get, remove}},
		"gone":             {refused(404, "gone"), answer{}, "", []string{get}},
		"no answer":        {refused(500, "broken"), answer{}, "broken", []string{get}},
		"used":             {answer{200, `{"Name":"n","Id":"1","Labels":{"taskrun.run":"r"},"Containers":{"c":{}}}`}, answer{}, "", []string{get}},
		"of somebody else": {answer{200, `{"Name":"n","Id":"1"}`}, answer{}, "", []string{get}},
	} {
		e := newEngine(t, map[string][]answer{get: {tt.found}, remove: {tt.removed}})
		e.expect(t, name, RemoveUnused(t.Context(), e.Client, "n"), tt.err, tt.asked...)
	}
}

// The end of a run removes its containers until none are left, and then its
// networks. Containers that hold a network are removed last.
func TestRemoveRun(t *testing.T) {
	t.Parallel()
	const (
		list     = "GET /containers/json"
		of       = list + ` {"label":{"taskrun.run=r":true}}`
		networks = "GET /networks"
		nets     = networks + ` {"label":{"taskrun.run=r":true}}`
	)
	both := answer{200, `[{"Id":"holder","Labels":{"taskrun.run":"r"}},{"Id":"task","Labels":{"taskrun.task":"t"}}]`}
	none, done := answer{200, "[]"}, answer{status: 204}
	for name, tt := range map[string]struct {
		answers map[string][]answer
		removed int
		err     string
		asked   []string
	}{
		"all": {map[string][]answer{
			list: {both, {200, `[{"Id":"late"}]`}, none}, "DELETE /containers/task": {done}, "DELETE /containers/holder": {done}, "DELETE /containers/late": {done},
			networks: {{200, `[{"Id":"1","Name":"n"},{"Id":"2","Name":"m"}]`}}, "DELETE /networks/1": {done}, "DELETE /networks/2": {done},
		}, 3, "", []string{
			of, "DELETE /containers/task", "DELETE /containers/holder", of, "DELETE /containers/late", of, nets, "DELETE /networks/1", "DELETE /networks/2",
		}},
		"one stays": {map[string][]answer{
			list: {both}, "DELETE /containers/task": {refused(500, "broken")}, "DELETE /containers/holder": {done},
		}, 1, "cannot remove container task: ", []string{of, "DELETE /containers/task", "DELETE /containers/holder"}},
		"no list": {map[string][]answer{list: {refused(500, "broken")}}, 0, "cannot list the containers of run r: ", []string{of}},
		"no list of networks": {
			map[string][]answer{list: {none}, networks: {refused(500, "broken")}},
			0, "cannot list the networks of run r: ",
			[]string{of, nets},
		},
		"a network stays": {map[string][]answer{
			list: {none}, networks: {{200, `[{"Id":"1","Name":"n"},{"Id":"2","Name":"m"}]`}},
			"DELETE /networks/1": {refused(500, "broken")}, "DELETE /networks/2": {done},
		}, 0, `cannot remove network "n": `, []string{of, nets, "DELETE /networks/1", "DELETE /networks/2"}},
	} {
		e := newEngine(t, tt.answers)
		removed, err := RemoveRun(t.Context(), e.Client, "r")
		e.expect(t, name, err, tt.err, tt.asked...)
		if removed != tt.removed {
			t.Errorf("%s: %d containers removed, want %d", name, removed, tt.removed)
		}
	}
}

// A container that is gone, or going, counts as removed.
func TestRemove(t *testing.T) {
	t.Parallel()
	const remove, wait = "DELETE /containers/c", "POST /containers/c/wait"
	busy := refused(409, "removal is in progress")
	ending := refused(500, "container state improper")
	for name, tt := range map[string]struct {
		removed []answer
		waited  answer
		err     string
		asked   []string
	}{
		"removed":              {[]answer{{status: 204}}, answer{}, "", []string{remove}},
		"gone":                 {[]answer{refused(404, "no such container")}, answer{}, "", []string{remove}},
		"not removed":          {[]answer{refused(500, "broken")}, answer{}, "cannot remove container c: ", []string{remove}},
		"going":                {[]answer{busy}, answer{200, `{"StatusCode":0}`}, "", []string{remove, wait}},
		"gone before the wait": {[]answer{busy}, refused(404, "no such container"), "", []string{remove, wait}},
		"the wait fails":       {[]answer{busy}, refused(500, "broken"), "cannot remove container c: ", []string{remove, wait}},
		"Podman refuses once":  {[]answer{ending, {status: 204}}, answer{}, "", []string{remove, remove}},
	} {
		e := newEngine(t, map[string][]answer{remove: tt.removed, wait: {tt.waited}})
		e.expect(t, name, Remove(t.Context(), e.Client, "c"), tt.err, tt.asked...)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Remove(ctx, newEngine(t, nil).Client, "c"); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: %v", err)
	}
}

// Podman is asked again if the process of the container ended meanwhile.
func TestInspect(t *testing.T) {
	t.Parallel()
	const get = "GET /containers/c/json"
	found := answer{200, `{"Id":"c","Name":"n"}`}
	ended := refused(500, "read /proc/11631/cgroup: no such process")
	for name, tt := range map[string]struct {
		answers []answer
		err     string
		asked   []string
	}{
		"at once":                 {[]answer{found}, "", []string{get}},
		"it ended":                {[]answer{ended, found}, "", []string{get, get}},
		"it ended and is removed": {[]answer{ended, refused(404, "no such container")}, "no such container", []string{get, get}},
		"broken":                  {[]answer{refused(500, "broken")}, "broken", []string{get}},
	} {
		e := newEngine(t, map[string][]answer{get: tt.answers})
		info, err := Inspect(t.Context(), e.Client, "c")
		e.expect(t, name, err, tt.err, tt.asked...)
		if tt.err == "" && (info.ID != "c" || info.Name != "n") {
			t.Errorf("%s: %+v", name, info)
		}
	}
}

func TestShortID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"": "", "abc": "abc", "0123456789ab": "0123456789ab", "0123456789abc": "0123456789ab"} {
		if got := ShortID(id); got != want {
			t.Errorf("%q: %q", id, got)
		}
	}
}

// Docker and Podman say in different ways what is wrong.
func TestMeaningOfErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err                       error
		ended, taken, unreachable bool
	}{
		{nil, false, false, false},
		{errors.New("broken"), false, false, false},
		{errdefs.ErrConflict, true, true, false},
		{errdefs.ErrNotFound, true, false, false},
		{errors.New("container state improper"), true, false, false},
		{errors.New("no such container"), true, false, false},
		{errors.New("the container name is already in use"), false, true, false},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, false, false, true},
		{fmt.Errorf("asking: %w", io.EOF), false, false, true},
	} {
		if ended, taken, unreachable := HasEnded(tt.err), NameIsTaken(tt.err), Unreachable(tt.err); ended != tt.ended || taken != tt.taken || unreachable != tt.unreachable {
			t.Errorf("%v: ended %t, the name is taken %t, unreachable %t", tt.err, ended, taken, unreachable)
		}
	}
	nobody := newEngine(t, nil)
	nobody.answers = map[string][]answer{"GET /networks/n": {refused(500, "broken")}}
	if _, err := MakeNetwork(t.Context(), nobody.Client, "n", "r", "/dir"); drivers.IsRecoverable(err) {
		t.Errorf("an engine that answers is said to be unreachable: %v", err)
	}
}

func TestIsPodman(t *testing.T) {
	t.Parallel()
	of := func(names ...string) (v client.ServerVersionResult) {
		for _, name := range names {
			v.Components = append(v.Components, system.ComponentVersion{Name: name})
		}
		return v
	}
	if IsPodman(of()) || IsPodman(of("Engine", "containerd")) || !IsPodman(of("Conmon", "Podman Engine")) {
		t.Error("an engine is mistaken for another")
	}
}

// Docker and Podman say in different ways that they have no rights of root.
func TestRootless(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer answer
		want   bool
		err    string
	}{
		"Docker":           {answer{200, `{"SecurityOptions":["name=seccomp,profile=builtin"]}`}, false, ""},
		"Docker, rootless": {answer{200, `{"SecurityOptions":["name=seccomp","name=rootless"]}`}, true, ""},
		"Podman":           {answer{200, `{"Rootless":false}`}, false, ""},
		"Podman, rootless": {answer{200, `{"Rootless":true}`}, true, ""},
		"an error":         {answer{500, `{"Rootless":true}`}, false, "cannot identify the engine: 500 Internal Server Error"},
		"nonsense":         {answer{200, "nonsense"}, false, "cannot identify the engine: invalid character"},
	} {
		e := newEngine(t, map[string][]answer{"GET /info": {tt.answer}})
		got, err := Rootless(t.Context(), e.Client)
		e.expect(t, name, err, tt.err, "GET /info")
		if got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	closed := newEngine(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Rootless(ctx, closed.Client); err == nil || !strings.HasPrefix(err.Error(), "cannot identify the engine: ") {
		t.Errorf("without time: %v", err)
	}
}

// The configuration of the docker command may be missing, but not broken. The
// version of the API and the certificates are those of the environment.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "config.json")
	if c, err := ReadConfig(name); err != nil || c == nil || c.CurrentContext != "" {
		t.Errorf("without a file: %+v, %v", c, err)
	}
	if _, err := ReadConfig(dir); err == nil {
		t.Error("a directory is read")
	}
	if err := os.WriteFile(name, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadConfig(name); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("cannot read %q: ", name)) {
		t.Errorf("nonsense: %v", err)
	}
	if err := os.WriteFile(name, []byte(`{"credsStore":"pass","currentContext":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := ReadConfig(name); err != nil || c.CredsStore != "pass" || c.CurrentContext != "x" {
		t.Errorf("%+v, %v", c, err)
	}
	env := map[string]string{"DOCKER_API_VERSION": "1.44", "DOCKER_HOST": "tcp://a:1", "DOCKER_CERT_PATH": dir}
	e := Find("", nil, func(name string) string { return env[name] })
	if e.API != "1.44" || e.Host != "tcp://a:1" {
		t.Errorf("%+v", e)
	}
	if _, err := e.Client(); err == nil || !strings.HasPrefix(err.Error(), `cannot use the certificates for the Docker engine at "tcp://a:1": `) {
		t.Errorf("without certificates: %v", err)
	}
	cli, err := Endpoint{Host: "tcp://a:1", API: "1.44"}.Client()
	if err != nil || cli.ClientVersion() != "1.44" || cli.DaemonHost() != "tcp://a:1" {
		t.Errorf("%+v, %v", cli, err)
	}
}
