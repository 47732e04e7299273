package trace

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got):\n%s", path, err, diff)
	}
}

// hello is the run of the job of the same name.
const hello = `
	0ms    job evaluation
	0ms    app[0] status pending
	1ms    app[0]/migrate received
	1ms    app[0]/watch received
	1ms    app[0]/web received
	1ms    app[0]/warm-up received
	1ms    app[0]/clean-up received
	2ms    app[0]/migrate setup
	2ms    app[0]/watch setup
	5ms    app[0]/watch started
	5ms    app[0]/watch running
	5ms    app[0]/migrate started
	5ms    app[0]/migrate running
	30ms   app[0]/migrate exit 0
	30ms   app[0]/migrate dead
	31ms   app[0]/web setup
	33ms   app[0]/web started
	33ms   app[0]/web running
	34ms   app[0]/warm-up setup
	35ms   app[0]/warm-up started
	35ms   app[0]/warm-up running
	1035ms app[0]/warm-up exit 0
	1035ms app[0]/warm-up dead
	2033ms app[0]/web exit 0
	2033ms app[0]/web dead
	2034ms app[0]/watch main-dead
	2034ms app[0]/watch killing
	3000ms app[0]/watch exit 130
	3000ms app[0]/watch killed
	3000ms app[0]/watch dead
	3001ms app[0]/clean-up setup
	3002ms app[0]/clean-up started
	3002ms app[0]/clean-up running
	3010ms app[0]/clean-up exit 0
	3010ms app[0]/clean-up dead
	3010ms app[0] status complete`

func helloJob() *api.Job {
	return job("migrate=prestart", "watch=sidecar", "web", "warm-up=poststart", "clean-up=poststop")
}

func TestTraces(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		jobs  []*api.Job
		story string
		now   time.Duration // 0: the run has ended
	}{
		{name: "every stage", jobs: []*api.Job{helloJob()}, story: hello},
		{name: "a job that is not known", story: hello},
		{name: "live", jobs: []*api.Job{helloJob()}, now: 20 * time.Millisecond, story: `
			0ms app[0] status pending
			1ms app[0]/migrate received
			1ms app[0]/web received
			1ms app[0]/warm-up received
			1ms app[0]/clean-up received
			2ms app[0]/migrate setup
			5ms app[0]/migrate started
			5ms app[0]/migrate running`},
		{name: "restarts", jobs: []*api.Job{job("web")}, story: `
			0s    app[0] status pending
			0s    app[0]/web received
			1s    app[0]/web setup
			2s    app[0]/web started
			2s    app[0]/web running
			10s   app[0]/web exit 3
			10s   app[0]/web restarting 15s
			26s   app[0]/web started
			26s   app[0]/web running
			40s   app[0]/web exit 3
			40s   app[0]/web dead failed
			40s   app[0] status failed`},
		{name: "driver failures", jobs: []*api.Job{job("web")}, story: `
			0s    app[0]/web received
			1s    app[0]/web setup
			2s    app[0]/web driver-failure file
			2s    app[0]/web restarting 3s
			7s    app[0]/web driver-failure file
			7s    app[0]/web dead failed`},
		{name: "a replaced allocation", jobs: []*api.Job{job("web")}, story: `
			0s    app[0] status pending
			0s    app[0]/web received
			1s    app[0]/web started
			1s    app[0]/web running
			5s    app[0]/web exit 1
			5s    app[0]/web dead failed
			5s    app[0] status failed
			35s   app[0]:2 status pending replaces 1
			35s   app[0]:2/web received
			36s   app[0]:2/web started
			36s   app[0]:2/web running
			40s   app[0]:2/web exit 0
			40s   app[0]:2/web dead
			40s   app[0]:2 status complete`},
		{name: "a canary", jobs: []*api.Job{job("web")}, story: `
			0s    job version 0
			0s    job deployment running
			0s    app[0] status pending
			0s    app[0]/web received
			1s    app[0]/web started
			1s    app[0]/web running
			1s    app[0] service web
			11s   app[0] healthy
			11s   job deployment successful
			60s   job version 1
			60s   job deployment running
			60s   app[0]:2 status pending
			60s   app[0]:2/web received
			61s   app[0]:2/web started
			61s   app[0]:2/web running
			71s   app[0]:2 healthy
			71s   app[0]/web killing
			76s   app[0]/web exit 0
			76s   app[0]/web dead
			76s   app[0] status complete
			76s   job deployment successful`, now: 80 * time.Second},
		{name: "a rollout", jobs: []*api.Job{job("web")}, story: `
			0s    app[0] status pending
			0s    app[0]/web received
			1s    app[0]/web started
			11s   app[0] healthy
			12s   app[1] status pending
			12s   app[1]/web received
			13s   app[1]/web started
			23s   app[1] healthy`, now: 30 * time.Second},
		{name: "a failing check", jobs: []*api.Job{job("web")}, story: `
			0s    app[0] status pending
			0s    app[0]/web received
			1s    app[0]/web started
			1s    app[0]/web running
			1s    app[0] check pending
			2s    app[0] check failure
			3s    app[0] check failure
			60s   app[0] unhealthy
			60s   job deployment failed
			61s   app[0]/web killing
			62s   app[0]/web exit 0
			62s   app[0]/web dead
			62s   app[0] status complete`},
		{name: "killed with everything", story: `
			0s    app[0] status pending
			0s    app[0]/web received
			1s    app[0]/web started
			2s    job notice hello`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now := time.Time{}
			if tt.now > 0 {
				now = begin.Add(tt.now)
			}
			got := told(build(tt.jobs, story(t, tt.story)).Trace(now))
			golden(t, strings.ReplaceAll(tt.name, " ", "-")+".txt", got)
		})
	}
}
