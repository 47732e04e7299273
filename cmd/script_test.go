package cmd

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"taskrun/drivers/docker/dockertest"
)

// patience limits every wait.
const patience = time.Minute

// atOnce is how many journeys run concurrently, unless -parallel sets it: most
// of a journey is waiting.
const atOnce = "4"

func TestMain(m *testing.M) {
	testscript.Main(leakTest{m}, map[string]func(){
		"taskrun":  func() { os.Exit(Main()) },
		"httpd":    httpd,
		"clusterd": clusterd,
		"jobapi":   jobapi,
		"nomad":    fakeNomad,
	})
}

// cleanups are called when all tests have ended.
var cleanups []func()

// httpd ADDRESS FILE is a server for tasks: it responds with 200 while the file
// exists, and otherwise with 503. It prints a line as soon as it can be reached.
func httpd() {
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("listening on", l.Addr())
	err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := os.Stat(os.Args[2]); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "the file is gone")
		}
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// raceOptions are those of the race detector: without them each process that a test
// starts waits for a second at its end.
const raceOptions = "atexit_sleep_ms=0"

// leakTest finds goroutines that tests have left behind, and processes of journeys.
type leakTest struct{ m *testing.M }

func (t leakTest) Run() int {
	if signal.Ignored(syscall.SIGHUP) { // as with nohup; commands would inherit it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	syscall.Umask(0o022) // some tests compare modes
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "TASKRUN_") || strings.HasPrefix(v, "NOMAD_") { // of the user who runs the tests
			name, _, _ := strings.Cut(v, "=")
			_ = os.Unsetenv(name)
		}
	}
	if err := os.Setenv("GORACE", raceOptions); err != nil { // for those that get the whole environment
		panic(err)
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(atOnce) // a number
	}
	debug.SetGCPercent(400) // tests in this process make whole trees of commands
	code := t.m.Run()
	for _, f := range cleanups {
		f()
	}
	dockertest.Close()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if left := leftBehind(patience); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "processes of journeys are left:\n%s\n", strings.Join(left, "\n"))
		return 1
	}
	return code
}

// TestJourneys plays testdata/script: what a user types and sees. Each script has
// its own home and data directory. In addition to the commands of testscript,
// there are
//
//	exits CODE COMMAND...   the command ends with that exit code
//	no-containers           the script has left no container behind
//	serve DIR               serves a directory, and archives, at $URL
//	run NAME FILE TASK...   "taskrun up FILE" is started; each TASK runs
//	end NAME INT|KILL|CUT   it was sent a signal, or its machine lost its power, and is gone
//	crash                   the engine of the run in the background is killed
//	listen                  listens at 127.0.0.1:$PORT
//	free                    makes $PORT one that nobody listens on
//	waitfor FILE            waits until the file exists
//	disk DIR SIZE           mounts a disk of so many KiB
//	until REGEXP COMMAND... runs a command until its output matches
//	junit FILE CLASS NAME [TEXT]  a report has the case, which fails with the text or passes
//	cluster                 starts a cluster, see startCluster
//
// and those for terminals, registries and daemons. The conditions are
// [exists:PATH], [docker] and [podman]: there is an engine, [dockerd]: one can be
// started, [root], and [mount]: a disk can be mounted.
func TestJourneys(t *testing.T) {
	t.Parallel()
	jobs, err := filepath.Abs("../testdata/jobs")
	if err != nil {
		t.Fatal(err)
	}
	var engines engines
	var terminals terminals
	var registries registries
	var daemons daemons
	cmds := terminals.commands()
	cmds["exits"], cmds["serve"], cmds["no-containers"] = exits, serve, noContainers
	cmds["disk"] = disk
	cmds["dockerd"], cmds["until"] = daemons.command, untilMatches
	cmds["listen"], cmds["free"], cmds["waitfor"] = listen, free, waitfor
	cmds["run"], cmds["end"], cmds["registry"] = engines.run, engines.end, registries.command
	cmds["crash"] = crash
	cmds["cluster"] = startCluster
	cmds["junit"] = junit
	testscript.Run(t, testscript.Params{
		Dir:                 "../testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("TASKRUN_DATA_DIR", filepath.Join(env.WorkDir, "data"))
			env.Setenv("JOBS", jobs)
			env.Setenv("GORACE", raceOptions)
			env.Setenv(journeyVar, strconv.Itoa(os.Getpid()))
			taskrun, err := exec.LookPath("taskrun") // for scripts that change PATH
			if err != nil {
				return err
			}
			env.Setenv("TASKRUN", taskrun)
			// Only scripts that need Docker use it: it is at $ENGINE then.
			env.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
			env.Setenv("ENGINE", os.Getenv("DOCKER_HOST"))
			env.Setenv("CONTAINER_HOST", "unix:///nowhere/podman.sock") // Podman's is at $PODMAN
			env.Setenv("PODMAN", os.Getenv("CONTAINER_HOST"))
			// A socket's path must be short.
			sockets, err := os.MkdirTemp("", "tr") //nolint:usetesting // t.TempDir is too long
			if err != nil {
				return err
			}
			env.Defer(func() { _ = os.RemoveAll(sockets) })
			env.Setenv("XDG_RUNTIME_DIR", sockets)
			env.Defer(func() { endRuns(taskrun, sockets, env.Vars) })
			return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o755)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "docker":
				_, err := dockertest.Engine()
				return err == nil, nil
			case "podman":
				_, err := dockertest.Podman()
				return err == nil, nil
			case "root":
				return os.Geteuid() == 0, nil
			case "dockerd":
				return dockertest.CanStart() == nil, nil
			case "mount":
				return canMount(), nil
			}
			path, ok := strings.CutPrefix(cond, "exists:")
			if !ok {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			_, err := os.Stat(path)
			return err == nil, nil
		},
		Cmds: cmds,
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// noContainers waits until no run of the script has containers.
func noContainers(ts *testscript.TestScript, _ bool, _ []string) {
	for deadline := time.Now().Add(scriptTime); ; <-time.After(50 * time.Millisecond) {
		left, err := dockertest.Left(ts.Getenv("TASKRUN_DATA_DIR"))
		ts.Check(err)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("there are still the containers %s", strings.Join(left, ", "))
		}
	}
}
