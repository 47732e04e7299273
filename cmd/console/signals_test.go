package console

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// The signals to stop are watched until that ends. SIGPIPE is dropped, and a SIGHUP that
// was ignored stays ignored.
func TestWatchSignals(t *testing.T) {
	t.Parallel()
	const key = "TASKRUN_TEST_SIGNALS"
	if all := os.Getenv(key); all != "" { // a process of its own
		send := func(sig syscall.Signal) {
			if err := syscall.Kill(os.Getpid(), sig); err != nil {
				t.Fatal(err)
			}
		}
		if all == "nohup" {
			signal.Ignore(syscall.SIGHUP) //nolint:forbidigo // as nohup does; it starts nothing
		}
		signals, stop := WatchSignals()
		send(syscall.SIGPIPE)
		for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
			if send(sig); sig == syscall.SIGHUP && all == "nohup" {
				continue
			}
			if got := <-signals; got != sig {
				t.Fatalf("%v, want %v", got, sig)
			}
		}
		stop()
		os.Stdout.WriteString("watched")
		send(syscall.SIGTERM)
		<-t.Context().Done() // it ends before
	}
	if signal.Ignored(syscall.SIGHUP) { // by nohup; the processes would inherit it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	for _, all := range []string{"all", "nohup"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWatchSignals$", "-test.timeout=20s")
		cmd.Env = append(os.Environ(), key+"="+all)
		out, err := cmd.CombinedOutput()
		ended, ok := errors.AsType[*exec.ExitError](err)
		if !ok || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM || !strings.HasSuffix(string(out), "watched") {
			t.Errorf("%s: %v, %s", all, err, out)
		}
	}
}
