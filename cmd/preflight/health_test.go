package preflight

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/drivers"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// told is a driver whose fingerprint comes from a function.
type told struct {
	drivers.Driver

	tell func() (<-chan drivers.Fingerprint, error)
}

func (d told) Fingerprint(context.Context) (<-chan drivers.Fingerprint, error) { return d.tell() }

// TestHealthOfADriver asks each driver once, with a time limit.
func TestHealthOfADriver(t *testing.T) {
	t.Parallel()
	well := drivers.Fingerprint{Health: drivers.HealthHealthy, HealthDescription: "Healthy"}
	says := func(list ...drivers.Fingerprint) <-chan drivers.Fingerprint {
		ch := make(chan drivers.Fingerprint, len(list))
		for _, f := range list {
			ch <- f
		}
		close(ch)
		return ch
	}
	silent := drivers.Fingerprint{Health: drivers.HealthUnhealthy, HealthDescription: "it did not report its health in time"}
	for name, c := range map[string]struct {
		tell  func() (<-chan drivers.Fingerprint, error)
		want  drivers.Fingerprint
		takes time.Duration
	}{
		"well":       {func() (<-chan drivers.Fingerprint, error) { return says(well, silent), nil }, well, 0},
		"an error":   {func() (<-chan drivers.Fingerprint, error) { return nil, errors.New("broken") }, drivers.Fingerprint{Health: drivers.HealthUnhealthy, HealthDescription: "broken"}, 0},
		"no word":    {func() (<-chan drivers.Fingerprint, error) { return says(), nil }, silent, 0},
		"no end":     {func() (<-chan drivers.Fingerprint, error) { return make(chan drivers.Fingerprint), nil }, silent, driverTime},
		"no channel": {func() (<-chan drivers.Fingerprint, error) { return nil, nil }, silent, driverTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				h := NewHealth(map[string]drivers.Driver{"d": told{tell: func() (<-chan drivers.Fingerprint, error) {
					asked++
					return c.tell()
				}}})
				began := time.Now()
				for range 2 {
					if diff := cmp.Diff(c.want, h.Of("d")); diff != "" {
						t.Error(diff)
					}
				}
				if took := time.Since(began); took != c.takes || asked != 1 {
					t.Errorf("it was asked %d times, and took %v, want %v", asked, took, c.takes)
				}
			})
		})
	}
}

// TestHealthOnce reports an unusable driver once, with all tasks that need it.
func TestHealthOnce(t *testing.T) {
	t.Parallel()
	task := func(name, driver string) string {
		return fmt.Sprintf("task %q {\n driver = %q\n config {\n command = \"true\"\n }\n}\n", name, driver)
	}
	cs := caseOf(t, Up, "", job(plain, task("a", "exec")+task("b", "raw_exec")))
	for driver := range cs.Drivers {
		cs.Health.known[driver] = drivers.Fingerprint{Health: drivers.HealthUnhealthy, HealthDescription: "ill"}
	}
	var got []string
	for _, d := range driverHealth(cs, cs.Files[0]) {
		got = append(got, d.Summary+": "+d.Detail)
	}
	want := []string{
		`driver "exec" cannot be used on this machine: ill`,
		`driver "raw_exec" cannot be used on this machine: ill; 2 tasks need it: "b", "t"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestUnusableDriver has a reason and a remedy.
func TestUnusableDriver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		is             drivers.Fingerprint
		detail, remedy string
	}{
		{"raw_exec", drivers.Disabled(), "the config file has disabled it", `enable it in the config block of plugin "raw_exec"`},
		{"raw_exec", drivers.Fingerprint{Health: drivers.HealthUndetected, HealthDescription: "disabled"}, "disabled", ""},
		{"docker", drivers.Fingerprint{Health: drivers.HealthUndetected, HealthDescription: "no daemon"}, "no daemon", "or run it with another one: --driver docker=mock_driver, or rehearse the job: taskrun rehearse"},
	} {
		got := ofHealth(c.name, c.is, jobspec.Root)
		if got.Detail != c.detail || got.Remedy != c.remedy || got.Path != jobspec.Root.Attr("driver") || got.Severity != jobspec.Error {
			t.Errorf("%s, %+v: %+v", c.name, c.is, got)
		}
	}
}

// TestNode has the attributes of the drivers that run tasks, or of all if a
// file refers to any, and the stubs. Entry points that only look at files query
// no driver.
func TestNode(t *testing.T) {
	t.Parallel()
	asks := job(plain+withConstraint("${attr.driver.exec}"), "")
	all := map[string]string{}
	for driver := range caseOf(t, Rehearse, "", asks).Drivers {
		all["driver."+driver] = "1"
	}
	for name, c := range map[string]struct {
		entry Entry
		job   string
		want  map[string]string
	}{
		"of its task":         {Up, job(plain, ""), map[string]string{"driver.raw_exec": "1"}},
		"of all":              {Rehearse, asks, all},
		"of a job that runs":  {Dispatch, job(plain, ""), map[string]string{"driver.raw_exec": "1"}},
		"of an update":        {Update, asks, all},
		"of a file":           {Validate, asks, map[string]string{}},
		"of another machine":  {Plan, asks, map[string]string{}},
		"of a file, strictly": {Strict, asks, map[string]string{}},
	} {
		cs := caseOf(t, c.entry, "", c.job)
		cs.MemoryMax = true
		cs.Stubs.Node = stub.Node{Class: "big", Meta: map[string]string{"rack": "here"}, Attributes: map[string]string{"cpu.arch": "mine"}}
		for driver := range cs.Drivers {
			cs.Health.known[driver] = drivers.Fingerprint{Attributes: map[string]string{"driver." + driver: "1"}}
		}
		got := cs.describeNode()
		want := maps.Clone(c.want)
		want["cpu.arch"] = "mine"
		if diff := cmp.Diff(want, got.Attributes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		plain := Node(nil, nil, stub.Node{})
		if got.Class != "big" || got.Name != plain.Name || got.Meta["rack"] != "here" || !got.MemoryOversubscription || plain.Class == "big" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
