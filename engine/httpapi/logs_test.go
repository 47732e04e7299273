package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
)

func TestLogs(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "batch", newTask("main", "run_for", "1h", "stdout_string", "one\ntwo\n", "stderr_string", "oops\n")))
	alloc := f.running("main").ID
	f.untilOutput(alloc, "main", 8)
	f.appendOutput("main.stdout.0", "\x00\xff\xfe\n") // not possible in a job file
	f.appendOutput("main.stdout.1", "last")           // as if the first file were full
	text := "one\ntwo\n\x00\xff\xfe\nlast"
	for name, tt := range map[string]struct{ query, want string }{
		"all":               {"type=stdout", text},
		"stderr":            {"type=stderr", "oops\n"},
		"from an offset":    {"type=stdout&offset=4", text[4:]},
		"from the end":      {"type=stdout&origin=end&offset=4", "last"},
		"beyond the end":    {"type=stdout&offset=1000", ""},
		"before the start":  {"type=stdout&origin=end&offset=1000", text},
		"explicit defaults": {"type=stdout&origin=start&offset=0&follow=false", text},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := f.do("GET", "/v1/client/fs/logs/"+alloc+"?task=main&plain=true&"+tt.query, nil)
			if got := readAll(t, plain.Body); got != tt.want {
				t.Errorf("plain: %q, want %q", got, tt.want)
			}
			if ct := plain.Header.Get("Content-Type"); ct != "text/plain" {
				t.Errorf("content type %q", ct)
			}
			frames := f.do("GET", "/v1/client/fs/logs/"+alloc+"?task=main&"+tt.query, nil)
			if got := readFrames(t, frames.Body); got != tt.want {
				t.Errorf("frames: %q, want %q", got, tt.want)
			}
		})
	}
}

// appendOutput writes to a file of output of the only allocation.
func (f *fixture) appendOutput(file, text string) {
	f.Helper()
	name := filepath.Join(f.engine.Allocs()[0].Dir, "alloc", "logs", file)
	out, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := out.WriteString(text); err != nil {
		f.Fatal(err)
	}
	if err := out.Close(); err != nil {
		f.Fatal(err)
	}
}

// readFrames reads frames of output, of which nothing was lost, like Nomad's client.
func readFrames(t *testing.T, r io.Reader) string {
	t.Helper()
	var got []byte
	for dec := json.NewDecoder(r); ; {
		var frame api.StreamFrame
		switch err := dec.Decode(&frame); err {
		case nil:
			if frame.FileEvent != "" {
				t.Errorf("the event of %q is %q", frame.Data, frame.FileEvent)
			}
			got = append(got, frame.Data...)
		case io.EOF:
			return string(got)
		default:
			t.Fatal(err)
		}
	}
}

func TestFollowingGoesOnUntilTheServerEnds(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "batch", newTask("main",
		"stdout_string", "tick\n", "stdout_repeat", 20, "stdout_repeat_duration", "5ms")))
	alloc := f.alloc(f.running("main").ID)
	plain := f.do("GET", "/v1/client/fs/logs/"+alloc.ID+"?task=main&type=stdout&follow=true&plain=true", nil)
	cancel := make(chan struct{})
	defer close(cancel)
	frames, errs := f.client.AllocFS().Logs(alloc, true, "main", "stdout", "start", 0, cancel, nil)
	var got []byte
	for want := strings.Repeat("tick\n", 21); string(got) != want; {
		select {
		case frame := <-frames:
			got = append(got, frame.Data...)
		case err := <-errs:
			t.Fatalf("%v, after %q", err, got)
		}
	}
	f.in("main", "dead")
	select {
	case <-errs:
		t.Error("the stream ended with the task")
	default:
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err := f.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-errs; err == nil {
		t.Error("the stream of frames ended as if there were more to come")
	}
	if rest := readAll(t, plain.Body); rest != strings.Repeat("tick\n", 21) {
		t.Errorf("plain: %q", rest)
	}
}

func TestFollowingFromTheEnd(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "batch", newTask("main", "run_for", "1h", "stdout_string", "old\n")))
	alloc := f.running("main").ID
	f.untilOutput(alloc, "main", 4)
	resp := f.do("GET", "/v1/client/fs/logs/"+alloc+"?task=main&type=stdout&follow=true&origin=end&offset=0", nil)
	var first api.StreamFrame
	if err := json.NewDecoder(resp.Body).Decode(&first); err != nil || !first.IsHeartbeat() {
		t.Errorf("%+v, %v; want a heartbeat", first, err)
	}
}

func TestManyFollowersAndASlowOne(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 1023) + "\n"
	const lines = 4 << 10
	f := serve(t, newJob("job", "batch", newTask("main", "run_for", "1h",
		"stdout_string", line, "stdout_repeat", lines-1, "stdout_repeat_duration", "0s")))
	alloc := f.running("main").ID
	path := "/v1/client/fs/logs/" + alloc + "?task=main&type=stdout&follow=true&plain=true"
	slow := f.do("GET", path, nil) // does not read
	want := strings.Repeat(line, lines)
	for range 8 {
		got := make([]byte, len(want))
		resp := f.do("GET", path, nil)
		if _, err := io.ReadFull(resp.Body, got); err != nil || !bytes.Equal(got, []byte(want)) {
			t.Fatal("output is missing", err)
		}
		_ = resp.Body.Close()
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(slow.Body, got); err != nil || !bytes.Equal(got, []byte(want)) {
		t.Error("the slow one misses output", err)
	}
}

func TestLogsThatAreDisabled(t *testing.T) {
	t.Parallel()
	task := newTask("main", "run_for", "1h")
	task.LogConfig = &api.LogConfig{Disabled: new(true)}
	f := serve(t, newJob("job", "batch", task))
	resp := f.do("GET", fmt.Sprintf("/v1/client/fs/logs/%s?task=main&type=stdout", f.running("main").ID), nil)
	want := `log entry for task "main" and log type "stdout" not found: the job disables logs`
	if body := readAll(t, resp.Body); resp.StatusCode != 404 || body != want {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
}

// Output that is not kept on disk can be followed from now on.
func TestFollowingLogsThatAreDisabled(t *testing.T) {
	t.Parallel()
	task := newTask("main", "run_for", "1h", "stdout_string", "tick\n", "stdout_repeat", 1_000_000, "stdout_repeat_duration", "5ms")
	task.LogConfig = &api.LogConfig{Disabled: new(true)}
	f := serve(t, newJob("job", "batch", task))
	path := fmt.Sprintf("/v1/client/fs/logs/%s?task=main&type=stdout&follow=true", f.running("main").ID)
	plain := make([]byte, 10)
	if _, err := io.ReadFull(f.do("GET", path+"&plain=true", nil).Body, plain); err != nil || string(plain) != "tick\ntick\n" {
		t.Errorf("plain: %q, %v", plain, err)
	}
	for _, path := range []string{path, "/v1/client/fs/outputs"} {
		var frame api.StreamFrame
		if err := json.NewDecoder(f.do("GET", path, nil).Body).Decode(&frame); err != nil || string(frame.Data) != "tick\n" {
			t.Errorf("frame: %+v, %v", frame, err)
		}
	}
}

// A follower that reads the files itself is told which of them grow, and which are new.
func TestOutputsAreAnnounced(t *testing.T) {
	t.Parallel()
	f := serve(t, newJob("job", "batch",
		newTask("main", "run_for", "1h", "stdout_string", "tick\n", "stdout_repeat", 1_000_000, "stdout_repeat_duration", "5ms"),
		newTask("other", "run_for", "1h", "stderr_string", "tick\n", "stderr_repeat", 1_000_000, "stderr_repeat_duration", "5ms")))
	alloc := f.running("main").ID
	for _, path := range []string{"/v1/client/fs/outputs", "/v1/client/fs/outputs?alloc=" + alloc} {
		dec := json.NewDecoder(f.do("GET", path, nil).Body)
		events := map[string][]string{}
		for len(events[alloc+"/main.stdout"]) < 3 || len(events[alloc+"/other.stderr"]) < 3 {
			var frame api.StreamFrame
			if err := dec.Decode(&frame); err != nil || frame.Data != nil {
				t.Fatalf("%+v, %v", frame, err)
			}
			events[frame.File] = append(events[frame.File], frame.FileEvent)
		}
		for file, got := range events {
			if len(events) != 2 || !slices.Equal(got[:3], []string{"new file", "", ""}) {
				t.Errorf("%s: %s: %q", path, file, got)
			}
		}
	}
	quiet := f.do("GET", "/v1/client/fs/outputs?alloc=none", nil)
	go f.server.Shutdown(context.Background())
	if body, err := io.ReadAll(quiet.Body); len(body) > 0 || err == nil {
		t.Errorf("of an allocation that there is not: %q, %v", body, err)
	}
}

// A slow client gets the rest after the end of the run, if the server lingers.
func TestServerLingersForFollowers(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 1023) + "\n"
	const lines = 8 << 10 // more than any socket buffers
	f := serveWith(t, func(cfg *httpapi.Config) { cfg.Linger = patience }, newJob("job", "batch",
		newTask("main", "run_for", "1h", "stdout_string", line, "stdout_repeat", lines-1, "stdout_repeat_duration", "0s")))
	alloc := f.running("main").ID
	slow := f.do("GET", "/v1/client/fs/logs/"+alloc+"?task=main&type=stdout&follow=true&plain=true", nil)
	f.untilOutput(alloc, "main", lines<<10)
	ended := make(chan error, 1)
	go func() { ended <- f.server.Shutdown(context.Background()) }()
	for alive := true; alive; { // until connections are refused
		conn, err := net.Dial("unix", f.path)
		if alive = err == nil; alive {
			_ = conn.Close()
		}
	}
	if got := readAll(t, slow.Body); got != strings.Repeat(line, lines) {
		t.Errorf("%d bytes came of %d", len(got), lines<<10)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
