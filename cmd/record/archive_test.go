package record

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/client"
	"taskrun/cmd/history"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/view"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/tasklog"
)

const (
	runID   = "20260102T030405.000Z-0a1b"
	allocID = "11111111-2222-3333-4444-555555555555"
	token   = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"
)

var (
	begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	alloc = &event.Alloc{Job: "web", Group: "g", Name: "web.g[0]", ID: allocID}
)

// runDir makes the directory of a run with the output of one task.
func runDir(t *testing.T, output string) *Run {
	t.Helper()
	dir := filepath.Join(leaktest.TempDir(t), "jobs", "web", "runs", runID)
	logs := filepath.Join(dir, "alloc", allocID, "alloc", "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for i, body := range []event.Body{
		event.AllocStatus{Status: "running"},
		event.TaskEvent{TaskEvent: event.Started()},
		event.TaskState{State: "running"},
		event.TaskEvent{TaskEvent: event.Setup("fetching https://user:SECRET@h/x with " + token)},
		event.Check{Service: "s", Check: "c", Status: "failure", Output: "known-SECRET printed"},
		event.TaskState{State: "dead", Failed: true},
	} {
		e := event.Event{Time: begin.Add(time.Duration(i) * time.Second), Alloc: alloc, Body: body}
		if _, ok := body.(event.AllocStatus); !ok {
			e.Task = "t"
		}
		line, err := e.Line(uint64(i) + 1)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, line...)
	}
	s := &view.Summary{Job: "web", Status: "failed", ExitCode: 3, Cause: "known-SECRET is wrong"}
	err := errors.Join(os.WriteFile(filepath.Join(dir, history.File), text, 0o600), Write(dir, s),
		WriteJob(dir, []byte(`{"ID":"web","Name":"web","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"mock_driver","Env":{"A":"env-SECRET"}}]}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(logs)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	log, err := tasklog.New(tasklog.Config{Dir: root, Task: "t", MaxFiles: 2, MaxFileSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := log.Writers()
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(stdout, output)
	if err = errors.Join(err, stdout.Close(), stderr.Close(), log.Close()); err != nil {
		t.Fatal(err)
	}
	return At(dir, "web")
}

// export exports a run, and opens what was written.
func export(t *testing.T, x Export, r *Run) (*Run, []byte) {
	t.Helper()
	x.Version, x.Now = "1.2.3", begin.Add(time.Hour)
	var file bytes.Buffer
	if _, err := x.Write(&file, r); err != nil {
		t.Fatal(err)
	}
	got, err := readArchive(bytes.NewReader(file.Bytes()), int64(file.Len()), "web.zip")
	if err != nil {
		t.Fatal(err)
	}
	return got, file.Bytes()
}

// contents returns all that is in a zip.
func contents(t *testing.T, file []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range z.File {
		f, err := e.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name] = string(text)
	}
	return all
}

func read(t *testing.T, r *Run, part client.Log) string {
	t.Helper()
	tasks, err := r.Tasks()
	if err != nil || len(tasks) != 1 {
		t.Fatalf("%v, %v", tasks, err)
	}
	out, err := tasks[0].Open(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	if err = errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestExportedRun(t *testing.T) {
	t.Parallel()
	kept := runDir(t, "one\ntwo\nthree")
	got, file := export(t, Export{Output: true, Secrets: []string{"known-SECRET", "x"}}, kept)
	for name, text := range contents(t, file) {
		if strings.Contains(text, "SECRET") || strings.Contains(text, token) {
			t.Errorf("%s has a secret: %s", name, text)
		}
	}
	if got.Name() != kept.Name() || got.Status() != "failed" || got.Summary.ExitCode != 3 || !got.Began().Equal(begin) {
		t.Errorf("%s %s %+v %v", got.Name(), got.Status(), got.Summary, got.Began())
	}
	var bodies []string
	for e, err := range got.Events() {
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, fmt.Sprintf("%d %s", e.Seq, event.Kind(e.Body)))
	}
	want := []string{"1 alloc_status", "2 task_event", "3 task_state", "4 task_event", "5 check", "6 task_state"}
	if diff := cmp.Diff(want, bodies); diff != "" || len(got.Warnings()) > 0 {
		t.Errorf("%s %q", diff, got.Warnings())
	}
	if job, err := got.Spec(); err != nil || *job.ID != "web" || job.TaskGroups[0].Tasks[0].Env["A"] != "xxxxx" {
		t.Errorf("%+v, %v", job, err)
	}
	for _, r := range []*Run{kept, got} {
		for tail, want := range map[int]string{-1: "one\ntwo\nthree", 0: "", 1: "three", 2: "two\nthree", 9: "one\ntwo\nthree"} {
			if text := read(t, r, client.Log{Stream: event.Stdout, Tail: tail}); text != want {
				t.Errorf("%s: the last %d lines are %q, want %q", r.Dir, tail, text, want)
			}
		}
		if text := read(t, r, client.Log{Stream: event.Stderr, Tail: -1}); text != "" {
			t.Errorf("stderr is %q", text)
		}
	}
}

// An export leaves no file of the run open.
func TestExportClosesFiles(t *testing.T) {
	t.Parallel()
	kept := runDir(t, "one\n")
	if err := os.WriteFile(filepath.Join(kept.Dir, EnvironmentFile), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	export(t, Export{Output: true, Environment: true}, kept)
	if open := leaktest.Open(kept.Dir); len(open) > 0 {
		t.Errorf("still open: %q", open)
	}
}

// An export counts what it writes; an empty output has no entry.
func TestContentsOfAnExport(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]Contents{"one\n": {Events: 6, Job: true, Outputs: 1, OutputBytes: 4}, "": {Events: 6, Job: true}} {
		var file bytes.Buffer
		x := Export{Output: true, Environment: true}
		got, err := x.Write(&file, runDir(t, output))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", output, err, diff)
		}
		names := []string{history.File, specFile, manifestFile, source.SummaryFile}
		if name := outputName(allocID, "t", event.Stdout); output != "" {
			names = append(names, name, name+timesSuffix)
		}
		slices.Sort(names)
		if diff := cmp.Diff(names, slices.Sorted(maps.Keys(contents(t, file.Bytes())))); diff != "" {
			t.Errorf("%q: %s", output, diff)
		}
	}
}

func TestExportWithoutOutput(t *testing.T) {
	t.Parallel()
	got, file := export(t, Export{}, runDir(t, "printed-SECRET\n"))
	for name, text := range contents(t, file) {
		if strings.HasPrefix(name, outputDir) || strings.Contains(text, "printed") {
			t.Errorf("%s has output: %s", name, text)
		}
	}
	tasks, err := got.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	missing := &NoOutputError{}
	if _, err := tasks[0].Open(t.Context(), client.Log{Tail: -1}); !errors.As(err, &missing) {
		t.Errorf("the output of %s: %v", tasks[0].Name, err)
	}
}

// A gap in the events stays one, and a live run is exported as such.
func TestExportOfADamagedRun(t *testing.T) {
	t.Parallel()
	kept := runDir(t, "")
	path := filepath.Join(kept.Dir, history.File)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	damaged := lines[0] + lines[1] + lines[4] + lines[5][:9]
	if err := errors.Join(os.WriteFile(path, []byte(damaged), 0o600), os.Remove(filepath.Join(kept.Dir, "summary.json"))); err != nil {
		t.Fatal(err)
	}
	kept = At(kept.Dir, "web")
	kept.Live = true
	got, _ := export(t, Export{}, kept)
	n := 0
	for range got.Events() {
		n++
	}
	want := []string{"2 events are missing between 2026-01-02T03:04:06.000Z and 2026-01-02T03:04:09.000Z"}
	if diff := cmp.Diff(want, got.Warnings()); n != 3 || diff != "" || got.Status() != "running" || !got.Live {
		t.Errorf("%d events, %s %s", n, got.Status(), diff)
	}
}

// The times of an output survive, and lines since a time are found by them.
func TestTimesOfAnExportedOutput(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	at := func(s int) int64 { return begin.Add(time.Duration(s) * time.Second).UnixNano() }
	name := outputName(allocID, "t", event.Stdout)
	put(t, z, name, "one\ntwo\nthree\n")
	put(t, z, name+timesSuffix, fmt.Sprintf("0 %d\n6 %d\n8 %d\nnonsense\n", at(0), at(10), at(20)))
	entries := entriesOf(t, z, &file)
	a := &archive{entries: entries, about: manifest{Exported: begin.Add(time.Hour)}}
	for since, want := range map[int]string{0: "one\ntwo\nthree\n", 5: "two\nthree\n", 15: "three\n", 25: ""} {
		out, err := a.output(allocID, "t", client.Log{Tail: -1, Since: begin.Add(time.Duration(since) * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(out); string(text) != want || err != nil {
			t.Errorf("since %d s: %q, %v", since, text, err)
		}
	}
	out, err := a.output(allocID, "t", client.Log{Tail: -1})
	if err != nil {
		t.Fatal(err)
	}
	var pieces []string
	buf := make([]byte, 100)
	for n, err := out.Read(buf); err == nil; n, err = out.Read(buf) {
		pieces = append(pieces, fmt.Sprintf("%d s: %q", int(out.Time().Sub(begin).Seconds()), buf[:n]))
	}
	if diff := cmp.Diff([]string{`0 s: "one\ntw"`, `10 s: "o\n"`, `20 s: "three\n"`}, pieces); diff != "" {
		t.Error(diff)
	}
}

// Output without times that can be read is of the time of the export.
func TestOutputWithoutTimes(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for task, times := range map[string]string{"none": "", "nonsense": "nonsense\n", "half": "0\n", "cut": "0 1"} {
		name := outputName(allocID, task, event.Stdout)
		put(t, z, name, "text\n")
		if times != "" {
			put(t, z, name+timesSuffix, times)
		}
	}
	a := &archive{entries: entriesOf(t, z, &file), about: manifest{Exported: begin.Add(time.Hour)}}
	for _, task := range []string{"none", "nonsense", "half", "cut"} {
		out, err := a.output(allocID, task, client.Log{Stream: event.Stdout, Tail: -1})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(out)
		if err = errors.Join(err, out.Close()); err != nil || string(text) != "text\n" || !out.Time().Equal(begin.Add(time.Hour)) {
			t.Errorf("%s: %q of %v, %v", task, text, out.Time(), err)
		}
	}
	a.about.NoOutput, a.path = true, "web.zip"
	if _, err := a.output(allocID, "other", client.Log{}); err == nil || err.Error() != `"web.zip" has no output of tasks: it was exported with --no-output` {
		t.Errorf("without output: %v", err)
	}
}

func put(t *testing.T, z *zip.Writer, name, text string) {
	t.Helper()
	w, err := z.Create(name)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// claim adds an entry without content that claims to have a size. It is much faster
// than a compressed one.
func claim(t *testing.T, z *zip.Writer, name string, size uint64) {
	t.Helper()
	if _, err := z.CreateRaw(&zip.FileHeader{Name: name, UncompressedSize64: size}); err != nil {
		t.Fatal(err)
	}
}

func entriesOf(t *testing.T, z *zip.Writer, file *bytes.Buffer) map[string]*zip.File {
	t.Helper()
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := listArchive(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// A time is kept that differs from the one before. Once there are many, only one per
// millisecond is.
func TestCloseTimes(t *testing.T) {
	t.Parallel()
	var s stampList
	for i, after := range []int{0, 0, 1, 0, 3} {
		s.add(int64(i), begin.Add(time.Duration(after)))
	}
	want := strings.ReplaceAll("0 B000000000\n2 B000000001\n3 B000000000\n4 B000000003\n", "B", strconv.FormatInt(begin.Unix(), 10))
	if got := string(s.text()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for i := len(s.list); i <= maxStamps; i++ {
		s.add(int64(i), begin.Add(time.Duration(i)*time.Second))
	}
	last := s.list[len(s.list)-1]
	if n := len(s.list); n != maxStamps/2+1 || last.offset != maxStamps || s.list[1].offset != 3 {
		t.Errorf("it keeps %d times until %d", n, last.offset)
	}
	for _, tt := range []struct {
		after time.Duration
		want  bool
	}{{time.Millisecond - 1, false}, {time.Millisecond, true}} {
		n := len(s.list)
		s.add(maxStamps+1, last.at.Add(tt.after))
		if got := len(s.list) > n; got != tt.want {
			t.Errorf("a time %v later is kept: %t", tt.after, got)
		}
	}
}

// With very many times an output keeps some of them, in order.
func TestManyTimes(t *testing.T) {
	t.Parallel()
	var s stampList
	for i := range 5 * maxStamps {
		s.add(int64(i), begin.Add(time.Duration(i)*time.Millisecond))
	}
	if n := len(s.list); n > maxStamps || n < maxStamps/4 {
		t.Errorf("%d times", n)
	}
	for i := 1; i < len(s.list); i++ {
		if s.list[i].offset <= s.list[i-1].offset || !s.list[i].at.After(s.list[i-1].at) {
			t.Fatalf("%v follows %v", s.list[i], s.list[i-1])
		}
	}
}

func TestForeignFiles(t *testing.T) {
	t.Parallel()
	const about = `{"format":1,"taskrun":"1","job":"web","id":"x"}`
	valid := func(more func(z *zip.Writer)) []byte {
		var file bytes.Buffer
		z := zip.NewWriter(&file)
		put(t, z, manifestFile, about)
		if more != nil {
			more(z)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return file.Bytes()
	}
	with := func(name, text string) []byte {
		var file bytes.Buffer
		z := zip.NewWriter(&file)
		put(t, z, name, text)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return file.Bytes()
	}
	claims := func(sizes ...uint64) []byte { // empty entries that pretend to be large
		var file bytes.Buffer
		z := zip.NewWriter(&file)
		for i, size := range sizes {
			claim(t, z, fmt.Sprint(i), size)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return file.Bytes()
	}
	whole := valid(nil)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":         {nil, "it is empty"},
		"text":          {[]byte("hello, this is text\n"), `it is not a file that "taskrun export" wrote`},
		"truncated":     {whole[:len(whole)-30], "it is damaged or incomplete: copy or export it again"},
		"another zip":   {with("x.txt", "x"), `it is a zip file, but not one that "taskrun export" wrote: it has no run.json`},
		"newer":         {with(manifestFile, `{"format":99,"taskrun":"9.9\u001b[2J"}`), `it was written by a newer taskrun, version "9.9\x1b[2J": update taskrun to read it`},
		"no run":        {with(manifestFile, `{}`), "run.json does not say which run it is"},
		"no object":     {with(manifestFile, `[]`), "run.json: json: cannot unmarshal array"},
		"a huge object": {with(manifestFile, strings.Repeat(" ", maxObject+1)), "run.json is larger than 16 MiB"},
		"twice":         {valid(func(z *zip.Writer) { put(t, z, manifestFile, about) }), `entry "run.json" is there twice`},
		"a path":        {valid(func(z *zip.Writer) { put(t, z, "../../etc/passwd", "x") }), `entry "../../etc/passwd" has the name of a file elsewhere`},
		"absolute":      {valid(func(z *zip.Writer) { put(t, z, "/etc/passwd", "x") }), `entry "/etc/passwd" has the name of a file elsewhere`},
		"a directory":   {valid(func(z *zip.Writer) { put(t, z, "output/", "") }), `entry "output/" is not a regular file`},
		"a link": {valid(func(z *zip.Writer) {
			h := &zip.FileHeader{Name: history.File}
			h.SetMode(fs.ModeSymlink | 0o777)
			w, err := z.CreateHeader(h)
			if _, failure := io.WriteString(w, "/etc/passwd"); err != nil || failure != nil {
				t.Fatal(err, failure)
			}
		}), `entry "events.json" is not a regular file`},
		"a bomb":           {valid(func(z *zip.Writer) { put(t, z, history.File, strings.Repeat("\n", smallEntry+1)) }), `entry "events.json" is compressed to less than 1/200 of its size: these cannot be events`},
		"huge contents":    {claims(maxContents + 1), "its contents are larger than 8"},
		"endless contents": {claims(1<<63, 1<<63), "its contents are larger than 8"},
		"many entries": {valid(func(z *zip.Writer) {
			for i := range maxEntries {
				claim(t, z, fmt.Sprint(i), 0)
			}
		}), "it has more than 20000 entries"},
		"a huge directory": {valid(func(z *zip.Writer) {
			for i := range 300 {
				claim(t, z, fmt.Sprint(i, strings.Repeat("x", 60_000)), 0)
			}
		}), "it has more than 20000 entries"},
	} {
		r, err := readArchive(bytes.NewReader(c.file), int64(len(c.file)), "x.zip")
		if r != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := readArchive(bytes.NewReader(whole), int64(len(whole)), "x.zip"); err != nil {
		t.Error(err)
	}
}

// An entry that claims to be smaller than it is, or that was changed, is an error
// where it is read.
func TestChangedEntry(t *testing.T) {
	t.Parallel()
	_, file := export(t, Export{Output: true}, runDir(t, "x"))
	at := bytes.Index(file, []byte(history.File)) + len(history.File) + 20
	file[at] ^= 0xff
	r, err := readArchive(bytes.NewReader(file), int64(len(file)), "web.zip")
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range r.Events() {
		if err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "the file is damaged: copy or export it again") {
		t.Errorf("%v", err)
	}
}

func TestSpecOfAStranger(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"ID":"web","TaskGroups":[null]}`, `{"ID":"web","TaskGroups":[{"Name":"g","Tasks":[null]}]}`, `[]`, `nonsense`, ``} {
		dir := leaktest.TempDir(t)
		if err := WriteJob(dir, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if j, err := At(dir, "web").Spec(); j != nil || err == nil {
			t.Errorf("%s: %v, %v", text, j, err)
		}
	}
	if j, err := At(leaktest.TempDir(t), "web").Spec(); j != nil || err != nil {
		t.Errorf("where there is none: %v, %v", j, err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	kept := runDir(t, "")
	if r, err := Open(kept.Dir); err != nil || r.Name() != "web/"+runID || r.Close() != nil {
		t.Errorf("%+v, %v", r, err)
	}
	for path, want := range map[string]string{
		leaktest.TempDir(t):                        "it is not the directory of a run",
		filepath.Join(leaktest.TempDir(t), "none"): "no such file or directory",
		"/dev/null": "it is not a regular file",
	} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	r := &Run{Job: "a/b", ID: runID}
	for name, want := range map[string]bool{
		"a/b/" + runID: true, runID: true, "20260102T": true, "a/b/2026": true, "0a1b": true, "a/b/0a1b": true,
		"": false, "a/b/": false, "0a1": false, "a/b": false, "b/" + runID: false,
	} {
		if got := r.Matches(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// FuzzArchive reads files from strangers completely.
func FuzzArchive(f *testing.F) {
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for name, text := range map[string]string{
		manifestFile: `{"format":1,"job":"web","id":"x"}`, specFile: `{"ID":"web"}`, "summary.json": `{}`,
		history.File:                       `{"seq":1,"type":"task_state","time":"2026-01-02T03:04:05Z","job":"web","group":"g","alloc":"web.g[0]","alloc_id":"1","task":"t","state":"running"}` + "\n",
		outputName("1", "t", event.Stdout): "one\ntwo\n", outputName("1", "t", event.Stdout) + timesSuffix: "0 1\n4 2\n",
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name}) // stored, so that the fuzzer can change it
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			f.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := readArchive(bytes.NewReader(file), int64(len(file)), "x.zip")
		if err != nil {
			return
		}
		_, _ = r.Spec()
		_, _, _ = r.Began(), r.Status(), r.Matches("x")
		tasks, err := r.Tasks()
		if err != nil {
			return
		}
		for _, task := range tasks {
			for _, part := range []client.Log{{Tail: -1}, {Tail: 1, Since: begin}} {
				if out, err := task.Open(t.Context(), part); err == nil {
					_, _ = io.Copy(io.Discard, io.LimitReader(out, 1<<20))
					_ = out.Close()
				}
			}
		}
	})
}
