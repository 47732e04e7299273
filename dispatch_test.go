package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"testing"

	"taskrun/cmd/report/recording"
	"taskrun/drivers"
	"taskrun/drivers/rawexec"
	"taskrun/engine"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/tasklog"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

// TestDispatchesMatchNomad dispatches the recorded parameterized job through
// the engine, with the payload and meta of the recording.
func TestDispatchesMatchNomad(t *testing.T) {
	t.Parallel()
	want := readJSON[recording.Recording](t, "testdata/runs/dispatch/expected/parameterized.json")
	const file = "testdata/runs/dispatch/parameterized.nomad.hcl"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, diagnostics := jobspec.Parse(jobspec.Source{Name: file, Text: text}, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	parsed.Job.Canonicalize()

	node := taskenv.Fingerprint()
	e := engine.New(engine.Config{
		DataDir: t.TempDir(), Hooks: hookcatalog.New(hookcatalog.Options{}), Node: &node, HostEnv: os.Environ(),
		Drivers: map[string]drivers.Driver{"raw_exec": rawexec.New()},
	})
	sub := e.Subscribe(false)
	if err := e.Submit(parsed.Job); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Handle("parameterized").Dispatch(engine.Dispatch{Payload: []byte("the payload\n")}); err == nil ||
		err.Error() != "Dispatch did not provide required meta keys: [who]" {
		t.Errorf("without meta: %v", err)
	}
	if _, _, err := e.Handle("parameterized").Dispatch(engine.Dispatch{Payload: []byte("the payload\n"), Meta: map[string]string{"who": "you"}}); err != nil {
		t.Fatal(err)
	}

	var lines bytes.Buffer
	for {
		ev, ok := sub.Next(t.Context())
		if !ok {
			t.Fatal("the events ended before the job")
		}
		if ev.Alloc == nil {
			continue
		}
		if err := json.NewEncoder(&lines).Encode(ev); err != nil {
			t.Fatal(err)
		}
		if s, ok := ev.Body.(event.AllocStatus); ok && (s.Status == "complete" || s.Status == "failed") {
			break
		}
	}
	order, allocs := fold(t, bufio.NewScanner(&lines), func(line) {})
	if len(order) != 1 || len(e.Allocs()) != 1 {
		t.Fatalf("%d allocations were told of, %d are known", len(order), len(e.Allocs()))
	}
	got := *allocs[order[0]]
	logs := allocdir.SharedOf(e.Allocs()[0].Dir).Logs
	out, err := tasklog.OpenReader(logs, "t", event.Stdout, 0, io.SeekStart)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	stdout, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	tk := got.Tasks["t"]
	tk.Stdout = string(stdout)
	got.Tasks["t"] = tk
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	sub.Close()

	id := regexp.MustCompile(`dispatch-[0-9]+-[0-9a-f]{8}`)
	for _, a := range []*recording.Alloc{&want.Allocs[0], &got} {
		if !id.MatchString(a.Name) {
			t.Errorf("the allocation is named %q", a.Name)
		}
		a.Name = id.ReplaceAllString(a.Name, "dispatch-ID")
	}
	for _, d := range compare("parameterized", want.Allocs, []recording.Alloc{got}) {
		t.Errorf("not what Nomad did: %s", d)
	}
}
