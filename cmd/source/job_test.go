package source

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// The jobs of a run are found by the names that users give them.
func TestJobsOfADirectory(t *testing.T) {
	t.Parallel()
	runs := map[string]string{"api": "/run/api", "web one": "/run/1", "web two": "/run/2", "db": "/run/db", "db team": "/run/team"}
	open := func(t *testing.T, self client.Self) *Directory {
		d := NewDirectory(&client.Server{}, &self)
		t.Cleanup(d.Close)
		return d
	}
	d := open(t, client.Self{Runs: runs})
	for name, want := range map[string][]string{
		"api": {"api"}, "web": {"web one", "web two"}, "web@two": {"web two"}, "db": {"db"}, "db@team": {"db team"}, "none": nil, "web@none": nil,
	} {
		if got := d.Keys(name); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
		first := append(slices.Clone(want), "")[0]
		if got := d.Key(name); got != first {
			t.Errorf("%q: %q, want %q", name, got, first)
		}
	}
	if got := d.Log("web two"); got != "/run/2/"+LogFile {
		t.Errorf("its log is %s", got)
	}
	for job, want := range map[string]string{"api": "/run/api/alloc/1", "api/periodic-1": "/run/api/alloc/1", "web one": "/run/1/alloc/1", "apis/periodic-1": "alloc/1"} {
		if got := d.allocDir(job, "1"); got != want {
			t.Errorf("an allocation of %q is in %s, want %s", job, got, want)
		}
	}
	d.Living(map[string]bool{"api": true, "db": true})
	if want := []string{"db team", "web one", "web two"}; !slices.Equal(d.IDs, want) || !maps.Equal(d.EndedJobs, map[string]bool{"api": true, "db": true}) {
		t.Errorf("%q live, %v have ended", d.IDs, d.EndedJobs)
	}
	for _, tt := range []struct {
		name string
		self client.Self
		want []string // nil: all, which is that one
	}{
		{"a run of several jobs", client.Self{Runs: runs}, []string{"db"}},
		{"an agent with one job", client.Self{Runs: map[string]string{"db": "/run/db"}, Agent: true}, []string{"db"}},
		{"a run of one job", client.Self{Runs: map[string]string{"db": "/run/db"}}, nil},
	} {
		d := open(t, tt.self)
		if d.Narrow("db") != d || !slices.Equal(d.IDs, []string{"db"}) || !slices.Equal(d.Only, tt.want) {
			t.Errorf("%s: %q, only %q, want %q", tt.name, d.IDs, d.Only, tt.want)
		}
	}
}

// A screen of notices shows nothing else, and has no output that could break.
func TestNotices(t *testing.T) {
	t.Parallel()
	var bus event.Bus
	var got []string
	var screen Screen = Notices(func(text string) { got = append(got, text) })
	sub := bus.Subscribe(true)
	bus.Publish(nil, "", event.Notice{Text: "one"})
	bus.Publish(&event.Alloc{ID: "1"}, "", event.AllocStatus{Status: "running"})
	bus.Publish(nil, "", event.Notice{Text: "two"})
	bus.Close()
	screen.Run(t.Context(), sub)
	screen.Say("three")
	screen.SayAfter(9, "four")
	if want := []string{"one", "two", "three", "four"}; !slices.Equal(got, want) {
		t.Errorf("it shows %q", got)
	}
	if screen.Broken() != nil {
		t.Error("it can break")
	}
}

func TestLeftError(t *testing.T) {
	t.Parallel()
	if got, want := (&LeftError{Code: 130}).Error(), "detached from the run with exit code 130"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	full := errors.New("stdout is full")
	if err := error(&LeftError{Code: 125, Err: full}); err.Error() != "stdout is full" || !errors.Is(err, full) {
		t.Errorf("%q", err)
	}
}
