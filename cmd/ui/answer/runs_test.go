package answer

import (
	"testing"
	"time"

	"taskrun/cmd/ui"
)

func TestRuns(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) *time.Time { t := begin.Add(d); return &t }
	ms := func(d time.Duration) *int64 { n := d.Milliseconds(); return &n }
	code := func(n int) *int { return &n }
	run := func(job, id, status string) Run {
		return Run{Run: job + "/" + id, Job: job, ID: id, Status: status, Dir: "/data/jobs/" + job + "/runs/" + id}
	}
	live, failed := run("shop", "20260102T030405.000Z-0a1b", "running"), run("nightly-reports-of-everything", "20260102T020304.000Z-beef", "failed")
	killed, broken := run("shop", "20260101T000000.000Z-0000", "lost"), run("shop", "1", "lost")
	live.Began, live.DurationMS = at(-time.Minute), ms(time.Minute)
	failed.Began, failed.Ended, failed.ExitCode, failed.DurationMS = at(-50*time.Hour), at(-49*time.Hour), code(3), ms(time.Hour)
	failed.Reason = "task \"t\" of nightly-reports-of-everything.g[0] failed: \x1b[2J exit code 3"
	killed.Began = at(-time.Hour)
	broken.Note = "cannot read how the run ended"
	for name, c := range map[string]struct {
		mode    ui.Mode
		columns int // 0: a pipe
	}{
		"runs-pipe": {ui.Plain, 0}, "runs-120": {ui.Plain, 120}, "runs-60": {ui.Plain, 60}, "runs-json": {ui.JSON, 0}, "runs-quiet": {ui.Quiet, 0},
	} {
		streams, out, _ := ui.Test()
		if c.columns > 0 {
			terminal(streams, c.columns)
		}
		if err := WriteRuns(To{Streams: streams, Mode: c.mode, Color: ui.ColorNever, At: begin}, []Run{live, failed, killed, broken}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.Bytes())
	}
}
