package client

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// transport answers requests in memory.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// frames returns a task of a cluster that sends n frames of an output with
// pauses, and then nothing more until the request ends.
func frames(t *testing.T, n int, pause time.Duration) *Task {
	t.Helper()
	r, w := io.Pipe()
	client, err := api.NewClient(&api.Config{Address: "http://cluster", HttpClient: &http.Client{
		Transport: transport(func(req *http.Request) (*http.Response, error) {
			go func() {
				for range n {
					select {
					case <-time.After(pause):
					case <-req.Context().Done():
						return
					}
					_ = json.NewEncoder(w).Encode(api.StreamFrame{File: "alloc/logs/t.stdout.0", Data: []byte("x")})
				}
				<-req.Context().Done()
				w.CloseWithError(req.Context().Err())
			}()
			return &http.Response{StatusCode: http.StatusOK, Body: r, Request: req}, nil
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return &Task{Server: &Server{API: client}, Alloc: &api.AllocationListStub{ID: "1"}, Name: "t"}
}

// An output is followed as long as the cluster gives signs of life, and given
// up soon after the last one.
func TestSilence(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 10} {
		synctest.Test(t, func(t *testing.T) {
			const pause = silentTime - time.Second
			task, began, text := frames(t, n, pause), time.Now(), ""
			at, err := LogFiles{task, event.Stdout}.Read(t.Context(), Position{}, true, func(piece []byte) error {
				text += string(piece)
				return nil
			})
			if !errors.Is(err, errSilent) || n > 0 && !errors.Is(err, ErrBrokeOff) {
				t.Errorf("%d frames: error %v", n, err)
			}
			if len(text) != n || at.Read != int64(n) {
				t.Errorf("%d frames: %d bytes were read, and %d are counted", n, len(text), at.Read)
			}
			if took, want := time.Since(began), time.Duration(n)*pause+silentTime; took != want {
				t.Errorf("%d frames: given up after %v, want %v", n, took, want)
			}
		})
	}
}

// A reader that stops ends the reading with its own error.
func TestReaderStopsEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full, n := errors.New("full"), 0
		at, err := LogFiles{frames(t, 3, time.Second), event.Stdout}.Read(t.Context(), Position{}, true, func([]byte) error {
			if n++; n == 2 {
				return full
			}
			return nil
		})
		if !errors.Is(err, full) || at.Read != 1 {
			t.Errorf("error %v at %+v", err, at)
		}
	})
}
