package play_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"taskrun/cmd/bubble"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/play"
	"taskrun/drivers/catalog"
)

// manyTasks is a service with ten tasks, each of which is checked, and restarted after
// some minutes.
func manyTasks(minutes int) *txtar.Archive {
	var b strings.Builder
	b.WriteString("-- it.nomad.hcl --\njob \"it\" {\n  group \"g\" {\n    network {\n      port \"p\" {}\n    }\n    restart {\n      attempts = 50\n      interval = \"1h\"\n      delay = \"1m\"\n      mode = \"delay\"\n    }\n")
	for i := range 10 {
		fmt.Fprintf(&b, `    task "t%d" {
      driver = "docker"
      config { image = "x" }
      template {
        destination = "local/x"
        data        = "{{ env \"NOMAD_TASK_NAME\" }}"
      }
      service {
        name     = "s%d"
        port     = "p"
        provider = "nomad"
        check {
          type     = "tcp"
          interval = "30s"
          timeout  = "1s"
        }
      }
    }
`, i, i)
	}
	b.WriteString("  }\n}\n-- it.nomadtest.hcl --\nrun \"it\" {\n")
	for i := range 10 {
		fmt.Fprintf(&b, "  task \"t%d\" {\n    run_for   = \"%dm\"\n    exit_code = 1\n  }\n", i, i+minutes)
	}
	b.WriteString("  until = \"1h\"\n}\n")
	return txtar.Parse([]byte(b.String()))
}

// The reading of the files is included. On an idle machine ten tasks and an hour of
// events take 20 ms at most.
func BenchmarkVirtualRun(b *testing.B) {
	small, err := txtar.ParseFile("testdata/restart.txtar")
	if err != nil {
		b.Fatal(err)
	}
	for name, archive := range map[string]*txtar.Archive{
		"ten tasks for an hour": manyTasks(10), "ten tasks with many restarts": manyTasks(1), "small": small,
	} {
		b.Run(name, func(b *testing.B) {
			s := newStage(b, archive)
			s.player = play.New(play.Options{Drivers: catalog.New, Dir: b.TempDir()})
			events := 0
			for b.Loop() {
				for _, run := range s.prepare("it.nomadtest.hcl") {
					var o *jobtest.Outcome
					if err := bubble.Run(context.Background(), bubble.Limits{}, func(ctx context.Context) (err error) {
						o, err = s.player.Play(ctx, run, 1)
						return err
					}); err != nil {
						b.Fatal(err)
					}
					events = len(o.Events)
					if err := o.Close(); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(events), "events")
		})
	}
}
