package verify

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/cmd/client"
	"taskrun/drivers/process"
)

// TestMain makes the test program an agent if it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "agent" {
		fakeAgent(os.Args[4])
		return
	}
	os.Exit(m.Run())
}

// fakeAgent is an agent whose node is ready when it is asked for the second time,
// and which says when it was interrupted.
func fakeAgent(file string) {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, syscall.SIGINT)
	config, _ := os.ReadFile(file)
	port := regexp.MustCompile(`http = (\d+)`).FindSubmatch(config)[1]
	status := "initializing"
	http.HandleFunc("/v1/nodes", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `[{"Status": %q}]`, status)
		status = "ready"
	})
	http.HandleFunc("/v1/agent/self", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"member": {"Tags": {"build": "1.2.3"}}}`)
	})
	fmt.Println("sockets:", os.Getenv(socketDir), strings.Contains(string(config), "\nmore = true"))
	go func() { _ = http.ListenAndServe("127.0.0.1:"+string(port), nil) }()
	<-interrupted
	fmt.Println("interrupted")
}

// An agent is started when its node is ready, and stopped gracefully.
func TestStartAgent(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	agent, err := StartAgent(t.Context(), Start{Nomad: program, Env: os.Environ(), Dir: dir, Wait: StartTime, More: "more = true\n"})
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := agent.Server.API.Nodes().List(nil)
	if err != nil || nodes[0].Status != "ready" {
		t.Errorf("the nodes are %+v, error %v", nodes, err)
	}
	if version, err := Version(t.Context(), agent.Server); version != "1.2.3" || err != nil {
		t.Errorf("its version is %q, error %v", version, err)
	}
	if err := agent.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if got, want := agent.lastLines(), "sockets: "+filepath.Join(dir, "s")+" true\ninterrupted"; got != want {
		t.Errorf("it has written %q, want %q", got, want)
	}
	refused := fmt.Errorf("register: %w", &client.RefusedError{Code: 500})
	if err := agent.Explain(refused); err != refused {
		t.Errorf("a refused request becomes %v", err)
	}
	if err := agent.Explain(nil); err != nil {
		t.Errorf("no error becomes %v", err)
	}
	if err := agent.Explain(errors.New("EOF")); err == nil || err.Error() != agent.Ended().Error() {
		t.Errorf("a request that broke off becomes %v", err)
	}
}

// While an agent runs, an error of a request stays as it is.
func TestExplainWhileTheAgentRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent, broken := &Agent{process: &process.Process{}}, errors.New("EOF")
		if err := agent.Explain(broken); err != broken {
			t.Errorf("it becomes %v", err)
		}
	})
}

// An agent that does not start is an error with its last lines, and nothing of it
// is left.
func TestAgentDoesNotStart(t *testing.T) {
	t.Parallel()
	const ended, late = "the agent of Nomad has ended; ", "the agent of Nomad was not ready within 50ms; "
	for _, tt := range []struct{ name, script, want string }{
		{"it says nothing", "exit 1", ended + "it has written nothing"},
		{"it says why", "echo 'no\x1b[2J port'\necho >&2 bye", ended + "its last lines:\nno\\x1b[2J port\nbye"},
		{"it says much", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i; done", ended + "its last lines:\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12"},
		{"one long line", "printf 'begin%04100d' 7", ended + "its last lines:\n" + strings.Repeat("0", lastBytes-1) + "7"},
		{"it hangs", "trap '' INT\necho starting\nsleep 60", late + "its last lines:\nstarting"}, // or nothing yet
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := filepath.Join(dir, "nomad")
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			wait := StartTime
			if tt.name == "it hangs" {
				wait = 50 * time.Millisecond
			}
			began := time.Now()
			agent, err := StartAgent(t.Context(), Start{Nomad: program, Env: os.Environ(), Dir: dir, Wait: wait})
			if agent != nil || err == nil || err.Error() != tt.want && err.Error() != late+"it has written nothing" {
				t.Errorf("agent %v, error %v, want %s", agent, err, tt.want)
			}
			if time.Since(began) > endTime {
				t.Error("it was waited for")
			}
		})
	}
}

// An agent needs a program and an empty directory.
func TestAgentCannotStart(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.Mkdir(filepath.Join(full, "s"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ nomad, dir, want string }{
		{"/bin/true", "/nowhere", "open /nowhere/agent.log: no such file or directory"},
		{"/bin/true", full, "mkdir " + full + "/s: file exists"},
		{"/nowhere/nomad", t.TempDir(), `cannot start "/nowhere/nomad": no such file or directory`},
	} {
		if agent, err := StartAgent(t.Context(), Start{Nomad: tt.nomad, Dir: tt.dir, Wait: StartTime}); agent != nil || err == nil || err.Error() != tt.want {
			t.Errorf("agent %v, error %v, want %s", agent, err, tt.want)
		}
	}
}

// The version is that of the agent that answers, if it names one.
func TestVersion(t *testing.T) {
	t.Parallel()
	self := func(size int) string {
		text := `{"member": {"Tags": {}}}`
		return text + strings.Repeat(" ", size-len(text))
	}
	for _, tt := range []struct {
		answers      agent
		version, err string
	}{
		{agent{"/v1/agent/self": `{"member": {"Tags": {"build": "1.9.0"}}}`}, "1.9.0", ""},
		{agent{"/v1/agent/self": self(maxAnswer)}, "of unknown version", ""},
		{agent{"/v1/agent/self": self(maxAnswer + 1)}, "", "the answer is too long"},
		{agent{"/v1/agent/self": "no JSON"}, "", "invalid character"},
		{agent{}, "", "Unexpected response code: 404"},
	} {
		version, err := Version(t.Context(), tt.answers.collector(t).Server)
		if version != tt.version || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("version %q, error %v, want %q, %q", version, err, tt.version, tt.err)
		}
	}
}

// Groups without processes are removed, the inner ones first; others stay.
func TestRemoveGroups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, busy := filepath.Join(dir, "empty"), filepath.Join(dir, "busy")
	if err := errors.Join(
		os.MkdirAll(filepath.Join(empty, "a", "b"), 0o700), os.MkdirAll(filepath.Join(busy, "a"), 0o700),
		os.WriteFile(filepath.Join(busy, "cgroup.procs"), nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	removeGroups([]string{filepath.Join(dir, "none"), empty, busy})
	var left []string
	for _, path := range []string{empty, busy, filepath.Join(busy, "a"), filepath.Join(busy, "cgroup.procs")} {
		if _, err := os.Lstat(path); err == nil {
			left = append(left, path)
		}
	}
	if want := []string{busy, filepath.Join(busy, "cgroup.procs")}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}
