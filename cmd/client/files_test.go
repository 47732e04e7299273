package client

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"
)

// A file that stops to arrive is given up. The time in which nobody reads does not count.
func TestSilentFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		body, w := io.Pipe()
		client, err := api.NewClient(&api.Config{Address: "http://cluster", HttpClient: &http.Client{
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				go func() {
					_, _ = io.WriteString(w, "ab")
					<-r.Context().Done()
					w.CloseWithError(r.Context().Err())
				}()
				return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		task := &Task{Server: &Server{API: client}, Alloc: &api.AllocationListStub{ID: "1"}}
		f, err := task.Files(t.Context()).Open("f", fileInfo{&api.AllocFileInfo{Size: 3}})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		<-time.After(2 * silentTime)
		if _, err := io.ReadFull(f, make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := io.ReadAll(f); !errors.Is(err, errSilent) || !errors.Is(err, ErrBrokeOff) || time.Since(began) != silentTime {
			t.Error(err, time.Since(began))
		}
	})
}

// Modes are read as they were printed.
func TestFileModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{
		0, 0o755, fs.ModeDir | 0o700, fs.ModeDir | fs.ModeSticky | 0o777, fs.ModeSymlink | 0o777, fs.ModeNamedPipe | 0o600,
		fs.ModeDevice | fs.ModeCharDevice | 0o666, fs.ModeSocket | 0o755, fs.ModeSetuid | fs.ModeSetgid | 0o755, fs.ModeIrregular,
	} {
		if got := (fileInfo{&api.AllocFileInfo{FileMode: mode.String()}}).Mode(); got != mode {
			t.Errorf("%v, want %v", got, mode)
		}
	}
}
