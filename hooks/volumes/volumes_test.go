package volumes_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
	"taskrun/hooks/volumes"
	"taskrun/jobspec/taskenv"
)

// stage is a task with mounts, and the directories around it.
type stage struct {
	data, stub string
	info       hooks.Task
	dirs       allocdir.Task
}

func newStage(t *testing.T, mounts ...*api.VolumeMount) *stage {
	t.Helper()
	s := &stage{data: t.TempDir(), stub: t.TempDir()}
	alloc := filepath.Join(t.TempDir(), "alloc-id")
	dir := allocdir.At(alloc)
	t.Cleanup(func() { _ = dir.Close() })
	if err := errors.Join(dir.Build(), dir.BuildTask("t", nil)); err != nil {
		t.Fatal(err)
	}
	s.dirs = allocdir.TaskOf(alloc, "t")
	task := &api.Task{Name: "t", VolumeMounts: mounts}
	s.info = hooks.Task{
		Alloc: &event.Alloc{Name: "job.g[2]"}, Job: &api.Job{}, Task: task, AllocDir: alloc, Dir: dir,
		Driver: drivers.Capabilities{FSIsolation: drivers.FSIsolationNone},
		Group: &api.TaskGroup{Name: new("g"), Tasks: []*api.Task{task}, Volumes: map[string]*api.VolumeRequest{
			"db":   {Name: "db", Type: "host", Source: "db"},
			"stub": {Name: "stub", Type: "host", Source: "stub"},
			"csi":  {Name: "csi", Type: "csi", Source: "stub", PerAlloc: true, ReadOnly: true},
			"gone": {Name: "gone", Type: "host", Source: "gone"},
		}},
	}
	return s
}

func mount(volume, destination string) *api.VolumeMount {
	return &api.VolumeMount{Volume: &volume, Destination: &destination, PropagationMode: new("private")}
}

func (s *stage) start(t *testing.T) ([]drivers.Mount, error) {
	t.Helper()
	stub := func(source string) (string, bool, bool) {
		path, ok := map[string]string{"stub": s.stub, "gone": filepath.Join(s.stub, "nothing")}[source]
		return path, true, ok
	}
	h := volumes.New(volumes.Config{DataDir: s.data, Stub: stub})(s.info).(hooks.TaskPrestart)
	b := taskenv.NewBuilder(nil, taskenv.AllocInfo{}, s.info.Job, s.info.Group, s.info.Task).SetClientDir(s.info.AllocDir)
	b.HostEnv = []string{"NAME=db"}
	var resp hooks.PrestartResponse
	err := h.Prestart(t.Context(), &hooks.PrestartRequest{Env: b.Build(), TaskDir: s.dirs.Dir}, &resp)
	return resp.Mounts, err
}

func TestVolumeIsALinkWithoutIsolation(t *testing.T) {
	t.Parallel()
	s := newStage(t, mount("${NAME}", "/var/lib/db"), mount("stub", "local/stub"), mount("csi", "/csi"))
	for range 2 { // a start and a restart
		mounts, err := s.start(t)
		if err != nil || len(mounts) > 0 {
			t.Fatalf("mounts %v, error %v", mounts, err)
		}
	}
	for name, want := range map[string]string{
		"var/lib/db": datadir.VolumeDir(s.data, "db"), "local/stub": s.stub, "csi": datadir.VolumeDir(s.data, "stub[2]"),
	} {
		if got, err := os.Readlink(filepath.Join(s.dirs.Dir, name)); got != want {
			t.Errorf("%s leads to %q, want %q (%v)", name, got, want, err)
		}
	}
	kept := filepath.Join(datadir.VolumeDir(s.data, "db"), "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := allocdir.Remove(s.info.AllocDir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("what is in the volume went with the allocation: %v", err)
	}
}

func TestVolumeIsMountedWithIsolation(t *testing.T) {
	t.Parallel()
	s := newStage(t, mount("db", "/var/lib/db"), mount("stub", "/stub"), mount("csi", "/csi"))
	s.info.Driver.FSIsolation = drivers.FSIsolationImage
	got, err := s.start(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []drivers.Mount{
		{HostPath: datadir.VolumeDir(s.data, "db"), TaskPath: "/var/lib/db", PropagationMode: "private"},
		{HostPath: s.stub, TaskPath: "/stub", Readonly: true, PropagationMode: "private"},
		{HostPath: datadir.VolumeDir(s.data, "stub[2]"), TaskPath: "/csi", Readonly: true, PropagationMode: "private"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestVolumeErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mounts []*api.VolumeMount
		want   string
	}{
		"unknown":               {[]*api.VolumeMount{mount("${NOPE}", "/x")}, `volume "${NOPE}" is not defined in group "g"`},
		"stub without a folder": {[]*api.VolumeMount{mount("gone", "/x")}, `the folder of the stub for host volume "gone" does not exist`},
		"occupied":              {[]*api.VolumeMount{mount("db", "/local")}, `destination "/local": something else is there`},
		"the directory":         {[]*api.VolumeMount{mount("db", "/..")}, "is the task's directory itself"},
		"in another volume":     {[]*api.VolumeMount{mount("stub", "/a"), mount("db", "/a/b")}, "path escapes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c.mounts...)
			_, err := s.start(t)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if left, _ := os.ReadDir(s.stub); len(left) > 0 {
				t.Errorf("something was written into the folder of a stub: %v", left)
			}
		})
	}
}

// A mount without a volume is ignored.
func TestMountWithoutAVolume(t *testing.T) {
	t.Parallel()
	s := newStage(t, &api.VolumeMount{}, mount("stub", "local/stub"))
	if _, err := s.start(t); err != nil {
		t.Errorf("without a volume: %v", err)
	}
	if _, err := os.Readlink(filepath.Join(s.dirs.Dir, "local", "stub")); err != nil {
		t.Errorf("the mount behind it: %v", err)
	}
}

// No volume is created for an unknown user.
func TestVolumeOfAnUnknownUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives volumes to another user")
	}
	s := newStage(t, mount("db", "/db"))
	s.info.Task.User = "no-such-user"
	if _, err := s.start(t); err == nil || !strings.Contains(err.Error(), "no-such-user") {
		t.Errorf("an unknown user: %v", err)
	}
	if left, _ := os.ReadDir(s.data); len(left) > 0 {
		t.Errorf("%v was made", left)
	}
}

func TestNoHookWithoutMounts(t *testing.T) {
	t.Parallel()
	if h := volumes.New(volumes.Config{})(newStage(t).info); h != nil {
		t.Errorf("made %v", h)
	}
}

// A mount can only be read if its stub, its volume or the mount itself says so. Its
// references are replaced.
func TestMountOptions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		volume   string
		readOnly *bool
		want     bool
	}{
		"nobody": {"db", nil, false}, "the mount says no": {"db", new(false), false}, "the mount": {"db", new(true), true},
		"the volume": {"csi", nil, true}, "the stub": {"stub", new(false), true},
	} {
		m := mount(tt.volume, "/${NAME}")
		m.ReadOnly, m.PropagationMode = tt.readOnly, new("${NAME}")
		s := newStage(t, m)
		s.info.Driver.FSIsolation = drivers.FSIsolationImage
		got, err := s.start(t)
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, %v", name, got, err)
		}
		if m := got[0]; m.Readonly != tt.want || m.TaskPath != "/db" || m.PropagationMode != "db" {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// The account of a task matters only if the task has no isolation: otherwise it
// reaches its volume by a mount.
func TestIsolatedTaskOfAnUnknownUser(t *testing.T) {
	t.Parallel()
	s := newStage(t, mount("db", "/db"))
	s.info.Task.User, s.info.Driver.FSIsolation = "no-such-user", drivers.FSIsolationImage
	if _, err := s.start(t); err != nil {
		t.Error(err)
	}
}

// The hook has the name of that of Nomad's client, and needs no stubs.
func TestWithoutStubs(t *testing.T) {
	t.Parallel()
	s := newStage(t, mount("stub", "local/stub"))
	h := volumes.New(volumes.Config{DataDir: s.data})(s.info)
	if h.Name() != "volumes" {
		t.Errorf("it is called %q", h.Name())
	}
	env := taskenv.NewBuilder(nil, taskenv.AllocInfo{}, s.info.Job, s.info.Group, s.info.Task).Build()
	if err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{Env: env, TaskDir: s.dirs.Dir}, &hooks.PrestartResponse{}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.Readlink(filepath.Join(s.dirs.Dir, "local", "stub")); got != datadir.VolumeDir(s.data, "stub") {
		t.Errorf("it leads to %q, %v", got, err)
	}
}

// A link whose directory cannot be made is an error that names both ends.
func TestLinkBelowAFile(t *testing.T) {
	t.Parallel()
	s := newStage(t, mount("db", "local/file/db"))
	if err := os.WriteFile(filepath.Join(s.dirs.Dir, "local", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := `volume "db": cannot link "local/file/db" to "` + datadir.VolumeDir(s.data, "db") + `": `
	if _, err := s.start(t); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}
