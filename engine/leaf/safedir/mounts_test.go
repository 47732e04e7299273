package safedir

import (
	"slices"
	"testing"
)

const mountinfo = `36 35 98:0 / / rw,noatime master:1 - ext4 /dev/root rw
37 36 0:5 / /proc rw - proc proc rw
60 36 0:40 / /data/jobs/web/runs/1/alloc/9f8a/web/local/mnt rw shared:9 - fuse.sshfs host: rw
61 36 0:41 / /data/jobs/a\040b/runs/1/x rw - tmpfs tmpfs rw
62 36 0:42 / /data/jobs/web2 rw - tmpfs tmpfs rw
short line
`

func TestFindMounts(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string][]string{
		"/data/jobs/web":  {"runs/1/alloc/9f8a/web/local/mnt"},
		"/data/jobs/a b":  {"runs/1/x"},
		"/data/jobs/web2": nil, // at the directory, not in it
		"/data/jobs/none": nil,
	} {
		if got := findMounts(mountinfo, dir); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

func TestMountsBelow(t *testing.T) {
	t.Parallel()
	mounts := Mounts{"a", "a/x", "ab/y", "a/y/z", "b/a/x"}
	for dir, want := range map[string][]string{"a": {"x", "y/z"}, "a/y": {"z"}, "c": nil} {
		if got := mounts.Below(dir); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

func TestUnescapeMount(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``: ``, `/a`: `/a`, `/a\040b`: `/a b`, `/a\134\011`: "/a\\\t", `/a\9xyz`: `/a\9xyz`, `/a\04`: `/a\04`,
	} {
		if got := unescapeMount.Replace(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
