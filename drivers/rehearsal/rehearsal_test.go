package rehearsal

import (
	"context"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
)

func TestATaskPlaysItsScriptInAnothersRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		script := For(time.Minute, 3)
		d := New(Role{
			Name: "docker", Schema: &hcldec.AttrSpec{Name: "image", Type: cty.String},
			FS: drivers.FSIsolationImage,
		}, func(*drivers.TaskConfig) Script { return script })
		if d.Info().Name != "docker" || d.Capabilities().FSIsolation != drivers.FSIsolationImage {
			t.Errorf("it does not play its role: %+v %+v", d.Info(), d.Capabilities())
		}
		if role := RoleOf(d); role.Name != "docker" || role.FS != drivers.FSIsolationImage {
			t.Errorf("its role is %+v", role)
		}
		health, err := d.Fingerprint(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if f := <-health; f.Health != drivers.HealthHealthy || f.Attributes["driver.docker"] != "1" {
			t.Errorf("fingerprint %+v", f)
		}
		start := func(id string) <-chan *drivers.ExitResult {
			t.Helper()
			cfg := &drivers.TaskConfig{
				ID: id, Name: "t", Output: discard{},
				Config: cty.ObjectVal(map[string]cty.Value{"image": cty.StringVal("nginx")}),
			}
			handle, _, err := d.StartTask(ctx, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if handle.Config.ID != id {
				t.Errorf("the handle is of %q", handle.Config.ID)
			}
			end, err := d.WaitTask(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			return end
		}
		began := time.Now()
		if r := <-start("a"); r.ExitCode != 3 || time.Since(began) != time.Minute {
			t.Errorf("it ended with %d after %v", r.ExitCode, time.Since(began))
		}
		script = For(Forever, 0)
		end := start("b")
		select {
		case r := <-end:
			t.Errorf("it ended by itself: %+v", r)
		case <-time.After(1000 * time.Hour):
		}
		if err := d.StopTask(ctx, "b", time.Second, ""); err != nil {
			t.Fatal(err)
		}
		if r := <-end; !r.Successful() {
			t.Errorf("it ended with %+v", r)
		}
	})
}

// discard drops all output.
type discard struct{}

func (discard) Files() (stdout, stderr *os.File, err error) { return nil, nil, nil }

func (discard) Writers() (stdout, stderr io.WriteCloser, err error) { return discard{}, discard{}, nil }

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func (discard) Close() error { return nil }
