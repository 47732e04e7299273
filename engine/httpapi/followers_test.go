package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// follower repeats a blocking query.
type follower struct {
	path string
	last atomic.Pointer[string] // answer
}

// ask returns the answer to a query, and its index.
func (w *follower) ask(ctx context.Context, client *http.Client, after string) (text, index string, err error) {
	query := "?"
	if strings.Contains(w.path, "?") {
		query = "&"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1"+w.path+query+"index="+after, nil)
	if err != nil {
		return "", "", err
	}
	answer, err := client.Do(r)
	if err != nil {
		return "", "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), answer.Header.Get("X-Nomad-Index"), err
}

func (w *follower) follow(ctx context.Context, client *http.Client) {
	for index := "0"; ; {
		text, now, err := w.ask(ctx, client, index)
		if err != nil {
			return
		}
		w.last.Store(&text)
		index = now
	}
}

// orders gives random orders for three jobs, a service, a batch job and a system job.
type orders struct {
	*fixture
	chance *rand.Rand
	given  []string
}

func (o *orders) give() {
	kinds := map[string]string{"a": "service", "b": "batch", "c": "system"}
	id, n := string(rune('a'+o.chance.IntN(len(kinds)))), o.chance.IntN(3)
	jobs := o.client.Jobs()
	var what string
	var err error
	switch o.chance.IntN(7) {
	case 0, 1, 2:
		runFor := []string{"1h", "1ms", "5ms"}[o.chance.IntN(3)]
		job := newJob(id, kinds[id], newTask("t", "run_for", runFor, "exit_code", o.chance.IntN(2)))
		job.Meta = map[string]string{"v": fmt.Sprint(n)}
		group := job.TaskGroups[0]
		switch kinds[id] {
		case "system":
			group.ReschedulePolicy = nil
		case "service":
			group.Services = []*api.Service{{Name: "s", Provider: "nomad"}}
			fallthrough
		default:
			group.Count = new(n)
			if o.chance.IntN(2) == 0 {
				group.ReschedulePolicy = &api.ReschedulePolicy{
					Attempts: new(1), Interval: new(time.Hour), Delay: new(5 * time.Second), DelayFunction: new("constant"), Unlimited: new(false),
				}
			}
		}
		what = fmt.Sprintf("register, for %s, with count %d", runFor, *group.Count)
		_, _, err = jobs.Register(job, nil)
	case 3:
		what = "stop"
		_, _, err = jobs.Deregister(id, n == 0, nil)
	case 4:
		what = fmt.Sprint("scale to ", n)
		_, _, err = jobs.Scale(id, "g", &n, "", false, nil, nil)
	case 5:
		what = "stop an allocation"
		if list, _, _ := jobs.Allocations(id, false, nil); len(list) > 0 {
			_, err = o.client.Allocations().Stop(&api.Allocation{ID: list[o.chance.IntN(len(list))].ID}, nil)
		}
	case 6:
		what = "reschedule"
		_, _, err = jobs.EvaluateWithOpts(id, api.EvalOptions{ForceReschedule: true}, nil)
	}
	o.given = append(o.given, fmt.Sprintf("%s: %s: %v", id, what, err)) // some are refused
}

// A client that follows something with blocking queries knows in the end how it is:
// nothing changes without an event.
func TestFollowersKnowTheEnd(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	var all []*follower
	for _, path := range []string{
		"jobs", "allocations?resources=true", "evaluations", "evaluations/count", "deployments", "services", "nodes",
		"node/" + nodeID, "node/" + nodeID + "/allocations", "scaling/policies",
	} {
		all = append(all, &follower{path: "/v1/" + path})
	}
	for _, id := range []string{"a", "b", "c"} {
		for _, of := range []string{"", "/allocations?all=true", "/evaluations", "/deployments", "/deployment", "/summary", "/versions", "/scale"} {
			all = append(all, &follower{path: "/v1/job/" + id + of})
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	for _, w := range all {
		following.Go(func() { w.follow(ctx, f.http) })
	}
	o := &orders{fixture: f, chance: rand.New(rand.NewPCG(rand.Uint64(), 0))}
	for range 12 {
		o.given = nil
		for range 1 + o.chance.IntN(6) {
			o.give()
			<-time.After(time.Duration(o.chance.IntN(8)) * time.Millisecond) // requests in progress may end in between
		}
		for deadline := time.Now().Add(patience); ; <-time.After(20 * time.Millisecond) {
			var behind []string
			for _, w := range all {
				now, _, err := w.ask(ctx, f.http, "0")
				if err != nil {
					t.Fatal(err)
				}
				if last := w.last.Load(); last == nil || *last != now {
					behind = append(behind, fmt.Sprintf("%s:\n  %s\nis now\n  %s", w.path, text(last), now))
				}
			}
			if len(behind) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("after %s\nthere is no news of %s", strings.Join(o.given, "\n"), strings.Join(behind, "\n"))
			}
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
