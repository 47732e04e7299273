package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/eventer"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/leaf/event"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// talker is the mock driver with events and health provided by the test.
type talker struct {
	*mock.Driver
	eventer.Eventer
	health chan drivers.Fingerprint
}

func (d *talker) Fingerprint(ctx context.Context) (<-chan drivers.Fingerprint, error) {
	ch := make(chan drivers.Fingerprint)
	go func() {
		defer close(ch)
		for {
			select {
			case f := <-d.health:
				select {
				case ch <- f:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ch, nil
}

// talk runs a job of one task with a talker, and returns its history.
func talk(t *testing.T, test func(*engine.Engine, *talker)) (h history) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		job := newJob("batch", newTask("t", "run_for", "10s"))
		job.Canonicalize()
		d := &talker{Driver: mock.New(), health: make(chan drivers.Fingerprint, 10)}
		e := engine.New(engine.Config{
			DataDir: t.TempDir(), Hooks: hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
			Drivers: map[string]drivers.Driver{"mock_driver": d, "other": &talker{Driver: mock.New()}},
		})
		sub := e.Subscribe(false)
		h = history{start: time.Now(), events: map[string][]string{}, states: map[string][]string{}, codes: map[string]int{}}
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		test(e, d)
		<-e.Done()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		for ev, ok := sub.Next(context.Background()); ok; ev, ok = sub.Next(context.Background()) {
			if body, ok := ev.Body.(event.TaskEvent); ok && body.Type == api.TaskDriverMessage && body.Time == h.start.Add(-time.Hour).UnixNano() {
				body.DisplayMessage += " (an hour ago)"
				ev.Body = body
			}
			h.add(ev)
		}
	})
	return h
}

func TestDriverEventsAreTheTasks(t *testing.T) {
	t.Parallel()
	h := talk(t, func(e *engine.Engine, d *talker) {
		alloc := only(e).ID
		d.Emit(drivers.TaskEvent{AllocID: alloc, TaskName: "t", Message: "pulling", Annotations: map[string]string{"image": "redis"}})
		synctest.Wait()
		d.Emit(drivers.TaskEvent{AllocID: alloc, TaskName: "t", Message: "pulled", Err: errors.New("halfway"), Timestamp: time.Now().Add(-time.Hour)})
		d.Emit(drivers.TaskEvent{AllocID: alloc, TaskName: "nobody", Message: "lost"})
		d.Emit(drivers.TaskEvent{AllocID: "nothing", TaskName: "t", Message: "lost"})
		synctest.Wait()
	})
	want := []string{received, setup, started, "Driver: pulling", "Driver: pulled: halfway (an hour ago)", exit0}
	if diff := cmp.Diff(want, h.events["t"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHealthOfDrivers(t *testing.T) {
	t.Parallel()
	h := talk(t, func(e *engine.Engine, d *talker) {
		check := func(want api.DriverInfo) {
			t.Helper()
			synctest.Wait()
			all := e.Drivers(context.Background())
			got := *all["mock_driver"]
			if got.UpdateTime.IsZero() {
				t.Errorf("the time is %v", got.UpdateTime)
			}
			got.UpdateTime = time.Time{}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if other := all["other"]; other == nil || other.Detected || other.HealthDescription != "the health of the driver is not known yet" {
				t.Errorf("one that says nothing is %+v", other)
			}
		}
		attributes := func(value string) map[string]string {
			return map[string]string{"driver.mock_driver": value, "driver.mock_driver.x": "1"}
		}
		d.health <- drivers.Fingerprint{Health: drivers.HealthHealthy, HealthDescription: "Healthy", Attributes: attributes("1")}
		check(api.DriverInfo{Detected: true, Healthy: true, HealthDescription: "Healthy", Attributes: attributes("true")})
		d.health <- drivers.Fingerprint{Health: drivers.HealthUnhealthy, HealthDescription: "no disk"}
		check(api.DriverInfo{Detected: true, HealthDescription: "no disk"})
		d.health <- drivers.Fingerprint{Health: drivers.HealthUnhealthy, HealthDescription: "still no disk"}
		check(api.DriverInfo{Detected: true, HealthDescription: "still no disk"})
		d.health <- drivers.Fingerprint{Health: drivers.HealthUndetected, HealthDescription: "disabled"}
		check(api.DriverInfo{HealthDescription: "disabled"})
		d.health <- drivers.Fingerprint{Health: drivers.HealthHealthy, HealthDescription: "Healthy"}
		check(api.DriverInfo{Detected: true, Healthy: true, HealthDescription: "Healthy"})
	})
	want := []string{"driver mock_driver is unhealthy: no disk", "driver mock_driver is healthy: Healthy"}
	if diff := cmp.Diff(want, h.notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
