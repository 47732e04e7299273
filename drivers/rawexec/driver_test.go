package rawexec_test

import (
	"context"
	"testing"
	"time"

	"taskrun/drivers/drivertest"
	"taskrun/drivers/rawexec"
)

func TestSmoke(t *testing.T) {
	d := rawexec.New(rawexec.Config{})
	defer d.Shutdown(context.Background())
	cfg, out := drivertest.Task(t, d, `
		command = "sh"
		args = ["-c", "echo hello; (setsid sleep 4242 &) ; sleep 4243 & exit 3"]`)
	if _, _, err := d.StartTask(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	ch, _ := d.WaitTask(t.Context(), cfg.ID)
	t.Log(<-ch)
	start := time.Now()
	t.Log(d.DestroyTask(cfg.ID, true), time.Since(start))
	t.Log(out.Text())
}
