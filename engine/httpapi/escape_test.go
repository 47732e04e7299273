package httpapi_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A task that repeatedly replaces a file by something else can never make a
// client read a file outside.
func TestFilesChangedDuringReads(t *testing.T) {
	t.Parallel()
	f, id, dir := withFiles(t)
	flip := filepath.Join(dir, "t/local/flip")
	stop := make(chan struct{})
	var flipping sync.WaitGroup
	flipping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			next := flip + ".next"
			_ = os.Remove(next)
			switch i % 3 {
			case 0:
				_ = os.WriteFile(next, []byte("inside"), 0o600)
			case 1:
				_ = os.Symlink("../../../outside", next)
			case 2:
				_ = os.Symlink("../secrets/token", next)
			}
			_ = os.Rename(next, flip)
		}
	})
	defer flipping.Wait()
	defer close(stop)
	for range 300 {
		for _, call := range []string{"cat", "readat", "stat", "stream"} {
			resp := f.do("GET", "/v1/client/fs/"+call+"/"+id+"?offset=0&follow=false&path=t/local/flip", nil)
			if body := readAll(t, resp.Body); strings.Contains(body, "away") || strings.Contains(body, "s3cr3t") ||
				strings.Contains(body, "YXdheQ") || strings.Contains(body, "czNjcjN0") {
				t.Fatalf("%s: %q", call, body)
			}
		}
	}
}

// Paths in any spelling, and secrets directories.
func TestPathsThatEscape(t *testing.T) {
	t.Parallel()
	f, id, dir := withFiles(t)
	if err := os.MkdirAll(filepath.Join(dir, "t/private"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "t/private/key"), []byte("s3cr3t"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "t/local/root")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"..", "../", "/..", "t/..", "t/../..", "....//outside", "%2e%2e/outside", `..\outside`, "t/local/root/etc/passwd",
		"t/local/../../../outside", "\x00", "t/\x00/../../outside", "t/private", "t/private/key",
		"t/secrets/.", "t/local/../secrets/token", "t//secrets//token", "T/secrets/token", "alloc/../t/secrets/token",
		"/etc/passwd", "//etc/passwd", "file:///etc/passwd", "t/local/in/../../secrets/token", strings.Repeat("../", 1000) + "etc/passwd",
		strings.Repeat("a/", 5000), strings.Repeat("a", 300),
	} {
		for _, call := range []string{"cat", "readat", "stat", "stream", "ls"} {
			resp := f.do("GET", "/v1/client/fs/"+call+"/"+id+"?offset=0&follow=false&path="+url.QueryEscape(path), nil)
			body := readAll(t, resp.Body)
			if resp.StatusCode == http.StatusOK && (path != "t/.." || call != "ls" && call != "stat") || strings.Contains(body, "root:") || strings.Contains(body, "s3cr3t") {
				t.Errorf("%s %.60q: %d %.100q", call, path, resp.StatusCode, body)
			}
		}
	}
	for _, id := range []string{"..", "../..", "%2e%2e", ""} {
		if resp := f.do("GET", "/v1/client/fs/ls/"+id, nil); resp.StatusCode != http.StatusNotFound {
			t.Errorf("allocation %q: %d", id, resp.StatusCode)
		}
	}
}
