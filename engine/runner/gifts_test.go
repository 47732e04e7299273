package runner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine/health"
	"taskrun/engine/runner"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// A hook's contributions to the first start remain for the second one if the
// hook returns nothing then; a new response replaces them.
func TestMountsAndDevicesStay(t *testing.T) {
	t.Parallel()
	type answer struct {
		mounts  []drivers.Mount
		devices []drivers.Device
	}
	first := answer{[]drivers.Mount{{HostPath: "/a", TaskPath: "/b"}}, []drivers.Device{{HostPath: "/dev/a"}}}
	second := answer{[]drivers.Mount{{HostPath: "/c", TaskPath: "/d"}}, []drivers.Device{{HostPath: "/dev/c"}}}
	for name, tt := range map[string]struct{ again, want answer }{
		"nothing":        {answer{}, first},
		"mounts only":    {answer{mounts: second.mounts}, answer{second.mounts, first.devices}},
		"devices only":   {answer{devices: second.devices}, answer{first.mounts, second.devices}},
		"another answer": {second, second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers := []answer{first, tt.again}
				starts := 0
				giver := &recorder{name: "giver", prestart: func(_ context.Context, _ *hooks.PrestartRequest, r *hooks.PrestartResponse) error {
					r.Mounts, r.Devices = answers[starts].mounts, answers[starts].devices
					starts++
					return nil
				}}
				s := newSetting(t, mockTask(map[string]any{"run_for": "1s", "exit_code": 1}, 1), nil, giver)
				d := &listener{Driver: s.driver}
				s.config.Drivers["mock_driver"] = d
				s.alloc = runner.New(s.config)
				s.alloc.Run(t.Context())
				if starts != 2 {
					t.Fatalf("%d starts, want 2", starts)
				}
				if diff := cmp.Diff(tt.want.mounts, d.last.Mounts); diff != "" {
					t.Errorf("mounts (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.want.devices, d.last.Devices); diff != "" {
					t.Errorf("devices (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Where a hook says that the machine is seen, its ports are, also if other hooks say
// nothing of it.
func TestViewOfAHook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		viewer := &recorder{name: "viewer", prestart: func(_ context.Context, _ *hooks.PrestartRequest, r *hooks.PrestartResponse) error {
			r.View = func(e taskenv.Endpoint) taskenv.Endpoint {
				return taskenv.Endpoint{Host: "10.0.0.1", Port: e.Port + 1000}
			}
			return nil
		}}
		s := newSetting(t, mockTask(map[string]any{"run_for": "1s"}, 0), nil, viewer, &recorder{name: "other"})
		s.config.Ports = []taskenv.Port{{Label: "p", Value: 80, HostIP: "127.0.0.1"}}
		d := &listener{Driver: s.driver}
		s.config.Drivers["mock_driver"] = d
		s.alloc = runner.New(s.config)
		s.alloc.Run(t.Context())
		if at := d.last.Env["NOMAD_ADDR_p"]; at != "10.0.0.1:1080" {
			t.Errorf("the port is seen at %q", at)
		}
	})
}

// networker is a driver that creates the networks of its groups.
type networker struct {
	listener
	name string
	must bool
}

func (d *networker) Info() drivers.Info {
	info := d.listener.Info()
	info.Name = d.name
	return info
}

func (d *networker) Capabilities() drivers.Capabilities {
	c := d.listener.Capabilities()
	c.MustInitiateNetwork = d.must
	return c
}

func (*networker) CreateNetwork(context.Context, *drivers.NetworkRequest) (*drivers.NetworkIsolation, error) {
	return nil, errors.New("the hook calls it")
}
func (*networker) DestroyNetwork(context.Context, *drivers.NetworkIsolation) error { return nil }

// networkHook sets the network of a group, like the network hook.
type networkHook struct {
	hooks.Alloc
	network *drivers.NetworkIsolation
}

func (*networkHook) Name() string { return "network" }
func (h *networkHook) Prerun(context.Context) error {
	h.SetNetwork(h.network)
	return nil
}

// The hook gets the driver that creates the network of a group. Only tasks of
// that driver are started in it; all tasks get its address.
func TestGroupNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(map[string]any{"run_for": "1s"}, 0), nil)
		in := &networker{listener: listener{Driver: mock.New()}, name: "in", must: true}
		out := &networker{listener: listener{Driver: mock.New()}, name: "out"}
		s.config.Drivers = map[string]drivers.Driver{"out": out, "in": in}
		s.config.Group.Tasks = nil
		for _, name := range []string{"out", "in"} {
			task := mockTask(map[string]any{"run_for": "1s"}, 0)
			task.Name, task.Driver = name, name
			s.config.Group.Tasks = append(s.config.Group.Tasks, task)
		}
		s.config.Job.Canonicalize()
		network := &drivers.NetworkIsolation{Driver: "in", IP: "10.0.0.7", Interface: "eth0"}
		var hook *networkHook
		s.config.Hooks.Alloc = append(s.config.Hooks.Alloc, func(info hooks.Alloc) hooks.AllocHook {
			hook = &networkHook{info, network}
			return hook
		})
		s.config.Ports = []taskenv.Port{{Label: "p", Value: 80}}
		s.config.Group.Networks = []*api.NetworkResource{{DNS: &api.DNSConfig{Servers: []string{"10.0.0.1"}}}}
		s.alloc = runner.New(s.config)
		s.alloc.Run(t.Context())
		if hook.Network != drivers.NetworkManager(in) {
			t.Errorf("the network is made by %v", hook.Network)
		}
		if hook.Isolation() != network {
			t.Errorf("the group is in %v", hook.Isolation())
		}
		if in.last == nil || out.last == nil {
			t.Fatal("a task was not started")
		}
		if in.last.Network != network {
			t.Errorf("a task of the driver was started in %v", in.last.Network)
		}
		if out.last.Network != nil {
			t.Errorf("a task of another driver was started in %v", out.last.Network)
		}
		for _, d := range []*networker{in, out} {
			if ip := d.last.Env["NOMAD_ALLOC_IP_p"]; ip != "10.0.0.7" {
				t.Errorf("%s: the address of the group is %q", d.name, ip)
			}
			if dns := d.last.DNS; dns == nil || len(dns.Servers) != 1 || dns.Servers[0] != "10.0.0.1" {
				t.Errorf("%s: the servers for names are %v", d.name, dns)
			}
		}
	})
}

// Without a driver for it, the network of a group is not created.
func TestNoNetworkManager(t *testing.T) {
	t.Parallel()
	s := newSetting(t, mockTask(map[string]any{"run_for": "1s"}, 0), nil)
	s.config.Drivers["mock_driver"] = &networker{listener: listener{Driver: mock.New()}, name: "mock_driver"}
	var manager drivers.NetworkManager
	s.config.Hooks.Alloc = append(s.config.Hooks.Alloc, func(info hooks.Alloc) hooks.AllocHook {
		manager = info.Network
		return nil
	})
	runner.New(s.config)
	if manager != nil {
		t.Errorf("it is made by %v", manager)
	}
}

// A restart that is given up reports each task whose old run has not ended;
// tasks that are not running do not count.
func TestRestartGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSetting(t, mockTask(map[string]any{"run_for": "1h", "kill_after": "3s"}, 0), nil)
		short := mockTask(map[string]any{"run_for": "1s"}, 0)
		short.Name, short.Lifecycle = "short", &api.TaskLifecycle{Hook: "prestart"}
		s.config.Group.Tasks = append(s.config.Group.Tasks, short)
		s.config.Job.Canonicalize()
		s.alloc = runner.New(s.config)
		done := make(chan runner.Result, 1)
		go func() { done <- s.alloc.Run(context.WithoutCancel(t.Context())) }()
		pass(5 * time.Second)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("no time"))
		defer cancel()
		err := s.alloc.Restart(ctx, false)
		if want := "failed to restart task t: no time"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
		pass(5 * time.Second)
		if err := s.alloc.Restart(t.Context(), false); err != nil {
			t.Errorf("a restart that ends: %v", err)
		}
		if err := s.alloc.RestartTask(t.Context(), "short", "", false); !errors.Is(err, runner.ErrTaskNotRunning) {
			t.Errorf("a task that has ended: %v", err)
		}
		if err := s.alloc.RestartTask(t.Context(), "nope", "", false); err == nil {
			t.Error("an unknown task was restarted")
		}
		s.alloc.Stop()
		<-done
		if err := s.alloc.Restart(t.Context(), false); !errors.Is(err, runner.ErrAllocEnded) {
			t.Errorf("an allocation that has ended: %v", err)
		}
	})
}

// Secrets are available to references but not as variables; a Vault token is a
// variable if the task wants it. Later values replace earlier ones.
func TestSecretsAndTokens(t *testing.T) {
	t.Parallel()
	for _, env := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			starts := 0
			giver := &recorder{name: "giver", prestart: func(_ context.Context, req *hooks.PrestartRequest, r *hooks.PrestartResponse) error {
				starts++
				r.Secrets = map[string]string{"secret.db.password": fmt.Sprint("p", starts)}
				r.VaultToken = fmt.Sprint("v", starts)
				r.IdentityTokens = map[string]string{"aud": fmt.Sprint("i", starts)}
				return nil
			}}
			seen := &recorder{name: "seen", prestart: func(_ context.Context, req *hooks.PrestartRequest, _ *hooks.PrestartResponse) error {
				variables := req.Env.Map()
				vault := ""
				if env {
					vault = fmt.Sprint("v", starts)
				}
				want := fmt.Sprintf("p%d %s i%d v%d", starts, vault, starts, starts)
				got := fmt.Sprint(req.Env.Replace("${secret.db.password}"), " ", variables["VAULT_TOKEN"], " ", variables["NOMAD_TOKEN_aud"], " ", req.VaultToken)
				if got != want {
					t.Errorf("start %d has %q, want %q", starts, got, want)
				}
				if v, ok := variables["secret.db.password"]; ok {
					t.Errorf("a variable is the secret %q", v)
				}
				return nil
			}}
			early := &recorder{name: "early", prestart: func(_ context.Context, req *hooks.PrestartRequest, _ *hooks.PrestartResponse) error {
				_ = req.Env.Map() // builds the environment before the change
				return nil
			}}
			task := mockTask(map[string]any{"run_for": "1s", "exit_code": 1}, 1)
			task.Vault = &api.Vault{Env: &env}
			s := newSetting(t, task, nil, early, giver, seen)
			s.alloc.Run(t.Context())
			if starts != 2 {
				t.Errorf("%d starts", starts)
			}
		})
	}
}

// A verdict by order replaces the watch, and is passed on.
func TestVerdictByOrder(t *testing.T) {
	t.Parallel()
	for verdict, healthy := range map[health.Verdict]bool{health.Healthy: true, health.Unhealthy: false} {
		synctest.Test(t, func(t *testing.T) {
			s := newSetting(t, mockTask(map[string]any{"run_for": "1h"}, 0), nil)
			told := make(chan health.Verdict, 2)
			s.config.OnVerdict = func(v health.Verdict) { told <- v }
			s.alloc = runner.New(s.config)
			result := s.run(t.Context())
			pass(time.Second)
			s.alloc.SetHealth(verdict)
			decided := time.Now()
			pass(30 * time.Minute) // the watch would have decided by now
			if now := s.alloc.State(); now.Healthy == nil || *now.Healthy != healthy || !now.Modified.Equal(decided) {
				t.Errorf("the verdict is %v, want %v; modified at %v, want %v", now.Healthy, healthy, now.Modified, decided)
			}
			if len(told) != 1 || <-told != verdict {
				t.Errorf("it was passed on wrongly or more than once")
			}
			s.alloc.Stop()
			<-result
		})
	}
}
