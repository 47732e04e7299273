package lookup

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/pflag"

	"taskrun/cmd/client"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
)

// shown returns an error with its exit code and its remedy.
func shown(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if e, ok := errors.AsType[*exit.Error](err); ok {
		text = strings.Join([]string{map[int]string{verdict.Usage: "usage", verdict.Failed: "failed", verdict.Internal: "internal"}[e.Code], text, e.Hint}, " | ")
	}
	return text
}

// connection returns a connection with flags from the command line.
func connection(t *testing.T, args ...string) *Connection {
	t.Helper()
	var c Connection
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.Bool("here", false, "")
	c.Bind(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &c
}

func finder(t *testing.T) (f *Finder, stderr func() string) {
	t.Helper()
	streams, _, err := ui.Test()
	return NewFinder(&console.Console{Streams: streams}), err.String
}

func TestRemote(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args    []string
		address string // from the environment
		want    bool
		err     string
	}{
		{nil, "", false, ""},
		{[]string{"--data-dir=d", "--job=j", "--here"}, "", false, ""},
		{[]string{"--region=r"}, "", false, "usage | cannot use --region: it requires --address | "},
		{[]string{"--tls-skip-verify"}, "", false, "usage | cannot use --tls-skip-verify: it requires --address | "},
		{[]string{"--address=http://n:4646", "--region=r", "--job=j"}, "", true, ""},
		{nil, "http://n:4646", true, ""},
		{[]string{"--address=http://n:4646", "--here"}, "", true, "usage | cannot use --here in a cluster: it is for runs on this machine | "},
		{[]string{"--address=http://n:4646", "--data-dir=d"}, "", true, "usage | cannot use --data-dir in a cluster: it is for runs on this machine | "},
		{[]string{"--here"}, "http://n:4646", true, "usage | cannot use --here in a cluster: it is for runs on this machine | " +
			"the address comes from the environment or the config file; --address= leaves it out"},
	} {
		c := connection(t, tt.args...)
		if tt.address != "" {
			c.Cluster.Address = tt.address
		}
		got, err := c.Remote("here")
		if got != tt.want || shown(err) != tt.err {
			t.Errorf("%q, %q: %v, %q, want %v, %q", tt.args, tt.address, got, shown(err), tt.want, tt.err)
		}
	}
}

func job(namespace, region string) *api.Job {
	id := "web"
	return &api.Job{ID: &id, Namespace: &namespace, Region: &region}
}

// Another command must find the same cluster, but secrets stay out of messages.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args           []string
		words, wordsOf string
	}{
		{nil, "", " --namespace=shop --region=eu"},
		{
			[]string{"--address=https://me:secret@n:4646", "--token=secret", "--http-auth=me:secret", "--tls-skip-verify"},
			" --address=https://n:4646 --tls-skip-verify=true", " --address=https://n:4646 --tls-skip-verify=true --namespace=shop --region=eu",
		},
		{
			[]string{"--address=http://n:4646", "--namespace=*", "--region=us"},
			" --address=http://n:4646 --region=us --namespace=*", " --address=http://n:4646 --region=us --namespace=*",
		},
		{[]string{"--address=http://n:%zz"}, " --address=http://n:%zz", " --address=http://n:%zz --namespace=shop --region=eu"},
	} {
		c := connection(t, tt.args...)
		if got := c.Words(); got != tt.words {
			t.Errorf("%q: %q, want %q", tt.args, got, tt.words)
		}
		if got := c.WordsFor(job("shop", "eu")); got != tt.wordsOf {
			t.Errorf("%q, for a job: %q, want %q", tt.args, got, tt.wordsOf)
		}
		if got := c.WordsFor(job("default", "global")); got != tt.words {
			t.Errorf("%q, for a usual job: %q, want %q", tt.args, got, tt.words)
		}
	}
}

// A job file may name the namespace and the region; the flags must not contradict it.
func TestServerOf(t *testing.T) {
	t.Parallel()
	var asked url.Values
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query()
		_, _ = io.WriteString(w, "[]")
	}))
	t.Cleanup(cluster.Close)
	for _, tt := range []struct {
		args                   []string
		job                    *api.Job
		namespace, region, err string
	}{
		{nil, job("default", "global"), "", "", ""},
		{nil, job("shop", "eu"), "shop", "eu", ""},
		{[]string{"--namespace=shop", "--region=eu"}, job("default", "global"), "shop", "eu", ""},
		{[]string{"--namespace=shop", "--region=eu"}, job("shop", "eu"), "shop", "eu", ""},
		{[]string{"--namespace=shop"}, job("other", "global"), "", "", `usage | job "web" is for namespace "other", and --namespace says "shop" | `},
		{[]string{"--region=us"}, job("default", "eu"), "", "", `usage | job "web" is for region "eu", and --region says "us" | `},
		{[]string{"--namespace=*"}, job("default", "global"), "", "", `usage | job "web" can be in one namespace, not in all | name it with --namespace`},
		{[]string{"--http-auth=me"}, job("default", "global"), "", "", `usage | cannot use the HTTP authentication: it must be user:password | `},
	} {
		s, err := connection(t, append(tt.args, "--address="+cluster.URL)...).ServerOf(tt.job)
		if shown(err) != tt.err || (s == nil) != (err != nil) {
			t.Errorf("%q: %v, %q, want %q", tt.args, s, shown(err), tt.err)
		}
		if s == nil {
			continue
		}
		_, _, err = s.API.Jobs().List(nil)
		if err != nil || asked.Get("namespace") != tt.namespace || asked.Get("region") != tt.region {
			t.Errorf("%q: asked %v, %v, want namespace %q, region %q", tt.args, asked, err, tt.namespace, tt.region)
		}
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	f, _ := finder(t)
	for _, tt := range []struct{ arg, want string }{
		{"--address=http://n:4646", ""},
		{"--address=n:4646", `usage | cannot use address "n:4646": it must begin with http://, https:// or unix:// | `},
		{"--token=x", "usage | cannot use --token: it requires --address | "},
	} {
		servers, err := f.Servers(t.Context(), *connection(t, tt.arg))
		if shown(err) != tt.want || err == nil && (len(servers) != 1 || servers[0].Address != "http://n:4646") {
			t.Errorf("%s: %v, %q, want %q", tt.arg, servers, shown(err), tt.want)
		}
	}
}

func TestNoRun(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"":  "failed | no job runs here | start one with: taskrun up FILE",
		"d": `failed | no job runs in data directory "d" | start one with: taskrun up FILE`,
	} {
		if got := shown(NoRun(verdict.Failed, dir)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Some silent servers cause warnings, only silent ones an error.
func TestTolerate(t *testing.T) {
	t.Parallel()
	servers := make([]*client.Server, 2)
	for _, tt := range []struct {
		failures     []error
		want, warned string
	}{
		{nil, "", ""},
		{[]error{errors.New("one")}, "", "warning: one\n"},
		{[]error{errors.New("one"), errors.New("two")}, "one", ""},
	} {
		f, stderr := finder(t)
		if got := shown(f.tolerate(servers, tt.failures)); got != tt.want || stderr() != tt.warned {
			t.Errorf("%v: %q, warned %q", tt.failures, got, stderr())
		}
	}
	f, _ := finder(t)
	if err := f.tolerate(nil, nil); err != nil {
		t.Errorf("without servers: %v", err)
	}
}

func TestWarnOnce(t *testing.T) {
	t.Parallel()
	f, stderr := finder(t)
	f.warnOnce([]error{errors.New("one")})
	f.warnOnce([]error{errors.New("one"), errors.New("two")})
	if got := stderr(); got != "warning: one\nwarning: two\n" {
		t.Errorf("warned %q", got)
	}
}

func TestTargetError(t *testing.T) {
	t.Parallel()
	state := &api.TaskState{State: "running"}
	tasks := []*client.Task{{Server: &client.Server{}, Alloc: &api.AllocationListStub{ID: "12345678", Name: "web.g[0]", TaskGroup: "g"}, Name: "app", State: state}}
	unknown := &client.UnknownError{Target: "x"}
	for _, tt := range []struct {
		err   error
		tasks []*client.Task
		want  string
	}{
		{io.EOF, tasks, "EOF"},
		{&client.UnknownError{Target: "ap", Near: "app"}, tasks, `usage | no task matches "ap" | did you mean "app"?`},
		{unknown, tasks, `usage | no task matches "x" | running tasks: app`},
		{unknown, nil, `usage | no task matches "x" | see: taskrun ps`},
	} {
		if got := shown(TargetError(tt.err, tt.tasks, verdict.Usage)); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	if got := AsFailed(unknown); got != error(unknown) {
		t.Errorf("an unknown target: %v", got)
	}
	if got := shown(AsFailed(io.EOF)); got != "failed | EOF | " {
		t.Errorf("another error: %q", got)
	}
}

func TestFindJob(t *testing.T) {
	t.Parallel()
	cluster, err := client.Remote(client.Cluster{Address: "http://n:4646", Namespace: "*"})
	if err != nil {
		t.Fatal(err)
	}
	var jobs []client.Job
	for _, at := range [][2]string{{"default", "web"}, {"shop", "web"}, {"shop", "db"}, {"shop", "queue"}, {"farm", "queue"}, {"default", "twice"}, {"default", "twice"}} {
		jobs = append(jobs, client.Job{JobListStub: &api.JobListStub{Namespace: at[0], ID: at[1]}, Server: cluster})
	}
	const all = "jobs are: web, web@shop, db@shop, queue@shop, queue@farm, twice, twice"
	for _, tt := range []struct{ name, want, err string }{
		{"web", "web", ""}, // not the one of another namespace
		{"web@shop", "web@shop", ""},
		{"db", "db@shop", ""},
		{"queue", "", `failed | job "queue" is ambiguous | ` + all},
		{"none", "", `failed | no job is called "none" | ` + all},
	} {
		j, err := FindJob(jobs, tt.name)
		if shown(err) != tt.err || (j != nil) != (tt.want != "") || j != nil && j.Name() != tt.want {
			t.Errorf("%s: %v, %q, want %q", tt.name, j, shown(err), tt.err)
		}
	}
	if _, err := FindJob(jobs, "twice"); shown(err) != `failed | job "twice" runs 2 times: http://n:4646 and http://n:4646 | ` {
		t.Errorf("a job that runs twice: %q", shown(err))
	}
	if _, err := FindJob(nil, "web"); shown(err) != "failed | no job runs here | start one with: taskrun up FILE" {
		t.Errorf("without jobs: %q", shown(err))
	}
}

func TestSignal(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"hup": "SIGHUP", "SIGHUP": "SIGHUP", "sigusr1": "SIGUSR1"} {
		if got, err := Signal(name); got != want || err != nil {
			t.Errorf("%s is %s, %v", name, got, err)
		}
	}
	got, err := Signal("nope")
	if text := shown(err); got != "" || !strings.HasPrefix(text, `usage | unknown signal "nope" | signals are: SIG`) {
		t.Errorf("%q, %q", got, text)
	}
}
