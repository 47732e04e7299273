package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// roleVar makes the test binary a program with its own run.
const roleVar = "TASKRUN_TEST_ROLE"

func init() {
	if os.Getenv(roleVar) == "engine" {
		engineRole()
		os.Exit(0)
	}
}

// engineRole is a program with one run: it starts /bin/sh with each script in
// its arguments, with its own outputs, and prints "started". After a line of
// input it prints whether it has only helpers, shuts down, prints how many
// processes it killed, and ends; at the end of the input it ends without that.
// The script helper is run as a helper.
func engineRole() {
	run, helpers := NewRun(), NewHelpers()
	defer helpers.Shutdown(context.Background())
	for _, script := range os.Args[1:] {
		of := run
		if script == helper {
			of = helpers
		}
		p, err := of.Start(Spec{
			Path: "/bin/sh", Args: []string{"-c", script},
			Env: append(os.Environ(), fmt.Sprint("NOMAD_ALLOC_ID=", os.Getpid()), "NOMAD_TASK_NAME=task"),
			Dir: "/", Stdout: os.Stdout, Stderr: os.Stderr,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		if strings.HasPrefix(script, ": ends\n") {
			<-p.Gone()
		}
	}
	fmt.Println("started", os.Getpid(), markOf(os.Getpid()))
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return
	}
	fmt.Println("helpers only", reaper.onlyHelpers())
	killed, err := run.Shutdown(context.Background())
	fmt.Println("killed", killed, err)
}

// helper is the script of a helper.
const helper = "exec sleep 1000 # helps"

// engine is a running engineRole.
type engine struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	timer *time.Timer
}

// program returns the path of the test binary.
func program(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startEngine starts an engine. It and all processes with its output must have
// ended at the end of the test.
func startEngine(t *testing.T, scripts ...string) *engine {
	t.Helper()
	cmd := exec.Command(program(t), scripts...)
	cmd.Env = append(os.Environ(), roleVar+"=engine", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	e := &engine{cmd: cmd, in: in, out: bufio.NewReader(r)}
	e.timer = time.AfterFunc(patience, func() {
		t.Error("it took too long")
		cmd.Process.Kill()
		r.Close()
	})
	t.Cleanup(func() {
		in.Close()
		rest, err := io.ReadAll(e.out) // ends when all processes with the output have ended
		if err != nil {
			t.Errorf("something of the run lives: %v", err)
		}
		if len(rest) > 0 {
			t.Logf("more output: %s", rest)
		}
		e.timer.Stop()
		r.Close()
		cmd.Wait()
	})
	return e
}

// line returns the rest of the next line with the given beginning.
func (e *engine) line(t *testing.T, beginning string) string {
	t.Helper()
	for {
		line, err := e.out.ReadString('\n')
		if err != nil {
			t.Fatalf("no line %q came: %v", beginning, err)
		}
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), beginning); ok {
			return strings.TrimSpace(rest)
		}
		t.Logf("output: %s", line)
	}
}

// shutdown ends the run and returns its report.
func (e *engine) shutdown(t *testing.T) string {
	t.Helper()
	fmt.Fprintln(e.in)
	return e.line(t, "killed ")
}
