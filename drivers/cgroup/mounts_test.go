package cgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	hybrid = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:5 master:1 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	unified = `24 23 0:22 / /sys rw - sysfs sysfs rw
30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
`
	bound = `30 24 0:26 /docker/1f\0402 /sys/fs/c\134group ro - cgroup2 cgroup ro
`
)

// TestParseMounts ignores other file systems.
func TestParseMounts(t *testing.T) {
	t.Parallel()
	want := []mount{
		{dir: "/sys/fs/cgroup/cpu,cpuacct", root: "/", controllers: []string{"rw", "cpu", "cpuacct"}},
		{dir: "/sys/fs/cgroup/memory", root: "/", controllers: []string{"rw", "memory"}},
		{dir: "/sys/fs/cgroup/unified", root: "/", version2: true},
	}
	if diff := cmp.Diff(want, parseMounts(hybrid), cmp.AllowUnexported(mount{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVersion1(t *testing.T) {
	t.Parallel()
	mounts := parseMounts(hybrid)
	for controller, want := range map[string]string{
		"memory": "/sys/fs/cgroup/memory", "cpu": "/sys/fs/cgroup/cpu,cpuacct", "freezer": "",
	} {
		if dir, ok := version1(mounts, controller); dir != want || ok != (want != "") {
			t.Errorf("%s is at %q, %v", controller, dir, ok)
		}
	}
	if dir, ok := version1(parseMounts(unified), "memory"); ok {
		t.Errorf("version 2 has version 1 at %q", dir)
	}
}

func TestVersion2(t *testing.T) {
	t.Parallel()
	type where struct {
		Dir, Own string
		OK       bool
	}
	for _, tt := range []struct {
		mounts, self string
		want         where
	}{
		{unified, "0::/user.slice/a.scope\n", where{"/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/a.scope", true}},
		{unified, "0::/\n", where{"/sys/fs/cgroup", "/sys/fs/cgroup", true}},
		{hybrid, "4:memory:/a\n0::/b\n", where{"/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/b", true}},
		{bound, "0::/docker/1f 2/x\n", where{`/sys/fs/c\group`, `/sys/fs/c\group/x`, true}},
		{bound, "0::/elsewhere\n", where{}},
		{unified, "0::/../outside\n", where{}},
		{unified, "4:memory:/a\n", where{}},
		{unified, "", where{}},
		{"", "0::/\n", where{}},
		{"nonsense - \n 1 2 - cgroup2 x y", "0::/\n", where{}},
	} {
		dir, own, ok := version2(parseMounts(tt.mounts), tt.self)
		if diff := cmp.Diff(tt.want, where{dir, own, ok}); diff != "" {
			t.Errorf("%q in %q (-want +got):\n%s", tt.self, tt.mounts, diff)
		}
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add(hybrid, "0::/\n")
	f.Add(bound, "0::/docker/1f 2/x\n")
	f.Fuzz(func(t *testing.T, mountinfo, self string) {
		mounts := parseMounts(mountinfo)
		dir, own, ok := version2(mounts, self)
		if ok && len(own) < len(dir) && own != "" {
			t.Errorf("%q is not in %q", own, dir)
		}
	})
}
