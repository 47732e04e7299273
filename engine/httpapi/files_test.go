package httpapi_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// withFiles runs a job, and puts files into its allocation directory.
func withFiles(t *testing.T) (f *fixture, id, dir string) {
	t.Helper()
	f = serve(t, newJob("job", "batch", newTask("t", "run_for", "1h")))
	id = f.running("t").ID
	a, _ := f.engine.Alloc(id)
	dir = a.Dir
	for name, text := range map[string]string{
		"t/local/page.html": "<html>", "t/local/lines": "one\ntwo\n", "t/secrets/token": "s3cr3t", "../outside": "away",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"t/local/out": "../../../outside", "t/local/secret": "../secrets/token", "t/local/host": "/etc/hostname", "t/local/in": "lines",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "t/local/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return f, id, dir
}

func TestForbiddenFiles(t *testing.T) {
	t.Parallel()
	f, id, dir := withFiles(t)
	for _, what := range []string{"ls", "stat", "cat", "readat", "stream"} {
		for path, want := range map[string]struct {
			code int
			text string
		}{
			"../outside":       {400, "Path escapes the alloc directory"},
			"t/../../outside":  {400, "Path escapes the alloc directory"},
			"/../outside":      {400, "Path escapes the alloc directory"},
			"t/local/out":      {400, "Path escapes the alloc directory"},
			"t/local/host":     {400, "Path escapes the alloc directory"},
			"t/local/secret":   {403, "Reading secret file prohibited: t/local/secret"},
			"t/secrets":        {403, "Reading secret file prohibited: t/secrets"},
			"t/secrets/token":  {403, "Reading secret file prohibited: t/secrets/token"},
			"t/./secrets/none": {404, "no such file or directory"},
			"t/local/none":     {404, "no such file or directory"},
			"t/local/lines/x":  {404, "not a directory"},
		} {
			resp := f.do("GET", "/v1/client/fs/"+what+"/"+id+"?offset=0&follow=false&path="+path, nil)
			body := readAll(t, resp.Body)
			if resp.StatusCode != want.code || !strings.Contains(body, want.text) || strings.Contains(body, dir) {
				t.Errorf("%s %s: %d %q, want %d %q", what, path, resp.StatusCode, body, want.code, want.text)
			}
		}
	}
	for _, what := range []string{"cat", "readat", "stream"} {
		for _, path := range []string{"t/local/pipe", "t/local"} {
			resp := f.do("GET", "/v1/client/fs/"+what+"/"+id+"?offset=0&path="+path, nil)
			if body := readAll(t, resp.Body); resp.StatusCode != 400 || body != path+" is not a regular file" {
				t.Errorf("%s %s: %d %q", what, path, resp.StatusCode, body)
			}
		}
	}
	if resp := f.do("GET", "/v1/client/fs/cat/"+nodeID+"?path=x", nil); resp.StatusCode != http.StatusNotFound {
		t.Errorf("unknown allocation: %d", resp.StatusCode)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	f, id, _ := withFiles(t)
	alloc := f.alloc(id)
	files := f.client.AllocFS()
	list, _, err := files.List(alloc, "t/local", nil)
	var names []string
	for _, info := range list {
		names = append(names, info.Name)
	}
	if got := strings.Join(names, " "); err != nil || got != "host in lines out page.html pipe secret" {
		t.Errorf("list %q, %v", got, err)
	}
	if info, _, err := files.Stat(alloc, "t/local", nil); err != nil || !info.IsDir || info.ContentType != "application/octet-stream" {
		t.Errorf("a directory: %+v, %v", info, err)
	}
	if info, _, err := files.Stat(alloc, "t/local/in", nil); err != nil || info.Size != 8 || info.ContentType != "text/plain; charset=utf-8" {
		t.Errorf("stat %+v, %v", info, err)
	}
	if info, _, err := files.Stat(alloc, "t/local/pipe", nil); err != nil || !strings.HasPrefix(info.FileMode, "p") {
		t.Errorf("stat of a pipe %+v, %v", info, err)
	}
	for query, want := range map[string]string{
		"cat/" + id + "?path=t/local/in":                        "one\ntwo\n",
		"readat/" + id + "?path=t/local/lines&offset=4":         "two\n",
		"readat/" + id + "?path=t/local/lines&offset=2&limit=3": "e\nt",
		"readat/" + id + "?path=t/local/lines&offset=9":         "",
	} {
		resp := f.do("GET", "/v1/client/fs/"+query, nil)
		if body := readAll(t, resp.Body); resp.StatusCode != 200 || body != want {
			t.Errorf("%s: %d %q, want %q", query, resp.StatusCode, body, want)
		}
	}
	// A task's file is never served as a page.
	resp := f.do("GET", "/v1/client/fs/cat/"+id+"?path=t/local/page.html", nil)
	if kind := resp.Header.Get("Content-Type"); kind != "application/octet-stream" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("a page is sent as %q", kind)
	}
}

// A followed file grows, is truncated, and is removed.
func TestStreamFile(t *testing.T) {
	t.Parallel()
	f, id, dir := withFiles(t)
	name := filepath.Join(dir, "t/local/lines")
	frames := json.NewDecoder(f.do("GET", "/v1/client/fs/stream/"+id+"?path=t/local/lines&origin=end&offset=4", nil).Body)
	next := func() (frame api.StreamFrame) {
		for frame.IsHeartbeat() {
			if err := frames.Decode(&frame); err != nil {
				t.Fatal(err)
			}
		}
		return frame
	}
	if got := next(); string(got.Data) != "two\n" || got.Offset != 8 || got.File != "t/local/lines" {
		t.Errorf("first %+v", got)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("three\n"); err != nil {
		t.Fatal(err)
	}
	if got := next(); string(got.Data) != "three\n" || got.Offset != 14 {
		t.Errorf("then %+v", got)
	}
	if err := file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if got := next(); got.FileEvent != "file truncated" {
		t.Errorf("when it is emptied: %+v", got)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if got := next(); got.FileEvent != "file deleted" {
		t.Errorf("when it is gone: %+v", got)
	}
	var none api.StreamFrame
	if err := frames.Decode(&none); err == nil {
		t.Errorf("after the end: %+v", none)
	}
}

// Unreadable files are errors, and a client sees that a stream is alive.
func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	f, id, dir := withFiles(t)
	local := filepath.Join(dir, "t/local")
	if err := os.Symlink("loop", filepath.Join(local, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(local, "page"), []byte("\x00\x01"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(local, "locked"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(local, "private"), nil, 0); err != nil {
		t.Fatal(err)
	}
	calls := map[string]string{
		"GET /v1/client/fs/ls/" + id + "?path=t/local/lines":                                  "404 readdir t/local/lines: not a directory",
		"GET /v1/client/fs/ls/" + id + "?path=t/local/loop":                                   "500 …",
		"GET /v1/client/fs/stream/" + id + "?path=t/local/lines&origin=x":                     "400 origin must be start or end",
		"GET /v1/client/fs/stream/" + id + "?path=t/local/lines&origin=end&offset=4&follow=0": `200 {"Offset":8,"Data":"dHdvCg==","File":"t/local/lines"}`,
		"GET /v1/client/fs/stream/" + id + "?path=t/local/lines&offset=-9&follow=false":       `200 {"Offset":8,"Data":"b25lCnR3bwo=","File":"t/local/lines"}`,
		"GET /v1/client/fs/stream/" + id + "?path=t/local/lines&offset=99&follow=false":       "200 ",
		"GET /v1/client/fs/readat/" + id + "?path=t/local/lines&offset=0&limit=-1":            "200 one\ntwo\n",
		"GET /v1/client/fs/readat/" + id + "?path=t/local/lines&offset=8":                     "200 ",
	}
	if os.Geteuid() != 0 {
		calls["GET /v1/client/fs/ls/"+id+"?path=t/local/locked"] = "403 …"
		calls["GET /v1/client/fs/stat/"+id+"?path=t/local/private"] = "403 …"
		calls["GET /v1/client/fs/cat/"+id+"?path=t/local/private"] = "403 …"
	}
	f.answers(t, calls)
	if info := get[map[string]any](f, "/v1/client/fs/stat/"+id+"?path=t/local/page"); info["ContentType"] != "application/octet-stream" || info["Size"] != 2.0 {
		t.Errorf("%v", info)
	}
	if kind := f.do("GET", "/v1/client/fs/cat/"+id+"?path=t/local/lines", nil).Header.Get("Content-Type"); kind != "text/plain; charset=utf-8" {
		t.Errorf("a text is sent as %q", kind)
	}
	beats := f.do("GET", "/v1/client/fs/stream/"+id+"?path=t/local/lines&offset=99", nil)
	var beat api.StreamFrame
	if err := json.NewDecoder(beats.Body).Decode(&beat); err != nil || !beat.IsHeartbeat() || beats.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%+v, %v", beat, err)
	}
}

// If the files are gone, nothing can be read.
func TestMissingFiles(t *testing.T) {
	t.Parallel()
	f, id, dir := withFiles(t)
	if err := os.RemoveAll(filepath.Join(dir, "alloc", "logs")); err != nil {
		t.Fatal(err)
	}
	f.answers(t, map[string]string{
		"GET /v1/client/fs/logs/" + id + "?task=t&type=stderr":             `404 log entry for task "t" and log type "stderr" not found`,
		"GET /v1/client/fs/logs/" + id + "?task=t&type=stdout&follow=true": `404 log entry for task "t" and log type "stdout" not found`,
	})
	if err := os.Rename(dir, dir+"-gone"); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"ls", "stat", "cat", "readat", "stream"} {
		f.answers(t, map[string]string{"GET /v1/client/fs/" + what + "/" + id + "?path=t&offset=0": "404 stat …"})
	}
	if err := os.Rename(dir+"-gone", dir); err != nil {
		t.Fatal(err)
	}
}
