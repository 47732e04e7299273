package screen

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// rollout is a run whose server was replaced, and failed once.
func rollout(t *testing.T, width, height int) *stage {
	s := newStage(t, width, height, job("shop", "web:server"))
	a, b := alloc("shop", "web", 0), alloc("shop", "web", 1)
	s.tell(nil, "", event.Version{Job: "shop"}, event.Deployment{Job: "shop", ID: "d0", Status: "successful", Description: "Deployment completed successfully"})
	s.runs(a, "server")
	s.tell(a, "", event.Service{ID: "1", Name: "web", Address: "127.0.0.1", Port: 8080, Registered: true},
		event.Check{Service: "web", Check: "alive", Status: "success", Output: "200 OK", Target: "http://127.0.0.1:8080/"},
		event.Check{Service: "web", Check: "ready", Status: "failure", Output: "not\n\nready\x1b[2J\n"})
	s.tell(a, "server", event.TaskEvent{TaskEvent: &api.TaskEvent{Type: api.TaskTerminated, ExitCode: 3, Details: map[string]string{"exit_code": "3"}, DisplayMessage: "Exit Code: 3"}})
	s.runs(b, "server")
	s.tell(b, "", event.Check{Service: "cache", Check: "there", Status: "pending"})
	s.tell(nil, "", event.Deployment{
		Job: "shop", ID: "d1", Version: 1, Status: "running", Canarying: true, Description: "Deployment is running but requires manual promotion",
		API: &api.Deployment{TaskGroups: map[string]*api.DeploymentState{"web": {DesiredTotal: 2, PlacedAllocs: 1, HealthyAllocs: 1, DesiredCanaries: 1, PlacedCanaries: []string{b.ID}}}},
	})
	return s
}

// Panes of two sizes, each with the row of the job.
func TestGoldenPanes(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"events": "2", "checks": "3", "deployments": "4", "waterfall": "5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := rollout(t, 80, 24)
			s.keys("g " + key)
			s.golden(name + "_80x24")
			s.Resize(160, 50)
			s.golden(name + "_160x50")
			s.Resize(20, 5)
			s.picture()
		})
	}
}

// The screen asks for the checks of visible rows and of the pane.
func TestChecked(t *testing.T) {
	t.Parallel()
	s := shop(t, 80, 24)
	ids := func() (ids []string) {
		for _, a := range s.Checked() {
			ids = append(ids, a.ID)
		}
		return ids
	}
	s.picture()
	if got := ids(); !slices.Equal(got, []string{"shop-web-0", "shop-web-1"}) {
		t.Errorf("of rows: %q", got)
	}
	s.keys("g 3")
	s.picture()
	if got := ids(); !slices.Equal(got, []string{"shop-web-0", "shop-web-1", "shop-db-0"}) {
		t.Errorf("of the job in the pane: %q", got)
	}
}

// The latest deployment is promoted or failed once the user confirms it.
func TestDeploymentOrders(t *testing.T) {
	t.Parallel()
	s := rollout(t, 80, 24)
	s.keys("4 tab p n")
	if got := s.Orders(); len(got) > 0 {
		t.Errorf("without a confirmation: %+v", got)
	}
	s.keys("p")
	s.sees("promote the canaries of shop, version 1?")
	s.keys("y F y")
	got := s.Orders()
	if len(got) != 2 || got[0].Verb != Promote || got[1].Verb != FailRollout || got[0].Text != "d1" || got[1].Text != "d1" || got[0].Job != "shop" {
		t.Errorf("the orders are %+v", got)
	}
	s.tell(nil, "", event.Deployment{Job: "shop", ID: "d1", Version: 1, Status: "running"})
	s.keys("p")
	s.sees("no canaries that wait")
	s.tell(nil, "", event.Deployment{Job: "shop", ID: "d1", Version: 1, Status: "failed"})
	for _, k := range []string{"p", "F"} {
		s.keys(k)
		s.sees("no deployment is going on")
	}
	if got := s.Orders(); len(got) > 0 {
		t.Errorf("for a deployment that has ended: %+v", got)
	}
}

// The latest events are shown until the user scrolls up, and again at the end.
func TestEventsFollow(t *testing.T) {
	t.Parallel()
	s := rollout(t, 80, 12)
	s.keys("g 2 tab")
	a := alloc("shop", "web", 0)
	signal := func(name string) {
		s.tell(a, "server", event.TaskEvent{TaskEvent: &api.TaskEvent{Type: api.TaskSignaling, DisplayMessage: name}})
	}
	signal("one")
	s.sees("one")
	s.keys("k k")
	signal("two")
	signal("three")
	if got := s.picture(); strings.Contains(got, "three") {
		t.Errorf("it follows although the user has scrolled up:\n%s", got)
	}
	s.keys("G")
	s.sees("three")
	signal("four")
	s.sees("four")
	s.keys("f")
	signal("five")
	if got := s.picture(); strings.Contains(got, "five") {
		t.Errorf("it follows although the user has turned that off:\n%s", got)
	}
	s.keys("f")
	s.sees("five")
}

// Events are those of the row with the cursor.
func TestEventsOfTheRow(t *testing.T) {
	t.Parallel()
	s := rollout(t, 80, 24)
	s.keys("g 2")
	s.sees("Exit Code: 3")
	s.keys("G")
	if got := s.picture(); strings.Contains(got, "Exit Code: 3") || strings.Contains(got, "Deployment") && strings.Contains(got, " run ") {
		t.Errorf("events of others:\n%s", got)
	}
}

// Only the waterfall of a run in progress changes while nothing happens.
func TestMoves(t *testing.T) {
	t.Parallel()
	s := rollout(t, 80, 24)
	for key, want := range map[string]bool{"1": false, "2": false, "3": false, "4": false, "5": true} {
		if s.keys(key); s.Moves() != want {
			t.Errorf("pane %s moves: %v", key, !want)
		}
	}
	s.keys("5")
	s.Ended("ended")
	if s.Moves() {
		t.Error("it moves after the end")
	}
}

// The waterfall shows the last minutes.
func TestTimeOfTheWaterfall(t *testing.T) {
	t.Parallel()
	s := rollout(t, 80, 24)
	s.now = s.now.Add(2 * time.Hour)
	s.keys("5 tab")
	s.sees("last 5m")
	s.sees("-4m")
	s.keys("+ + +")
	s.sees("last 1m")
	s.keys("- - - - - -")
	s.sees("the whole run")
	if got := s.picture(); strings.Contains(got, "-1h") {
		t.Errorf("the whole run has no end to count from:\n%s", got)
	}
}
