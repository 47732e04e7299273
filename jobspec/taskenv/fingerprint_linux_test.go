package taskenv

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// testHost is a host with these files, on which tasks may use the first cores.
func testHost(root fs.FS) *host {
	return &host{
		root:     root,
		hostname: "box",
		uname:    func() (string, string) { return "6.1.0-37-amd64", "x86_64" },
		usable:   func(core int) bool { return core == 0 },
		landlock: func() int { return 4 },
		address: func(iface string) string {
			if iface == "" {
				iface = "any"
			}
			return "address of " + iface
		},
		space: func(string) uint64 { return 1 << 20 },
	}
}

func TestAttributesOfMachines(t *testing.T) {
	t.Parallel()
	machines, err := filepath.Glob("testdata/machine/*.txtar")
	if err != nil || len(machines) == 0 {
		t.Fatalf("no machines: %v", err)
	}
	for _, file := range machines {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			root, err := txtar.FS(archive)
			if err != nil {
				t.Fatal(err)
			}
			want, err := fs.ReadFile(root, "want")
			if err != nil {
				t.Fatal(err)
			}
			n := Node{DataDir: "/var/lib/da ta/runs", machine: newMachine(testHost(root))}
			var lines []string
			for name, value := range n.AllAttributes() {
				lines = append(lines, name+"="+value)
				if got, ok := n.Attribute(name); !ok || got != value {
					t.Errorf("Attribute(%q) = %q, %v, want %q", name, got, ok, value)
				}
			}
			slices.Sort(lines)
			got := strings.Join(lines, "\n") + "\n"
			got = strings.Replace(got, SignalNames, "SIGNALS", 1)
			got = strings.Replace(got, "cpu.arch="+runtime.GOARCH, "cpu.arch=GOARCH", 1)
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestUsableCores(t *testing.T) {
	t.Parallel()
	h := testHost(fstest.MapFS{
		"sys/devices/system/cpu/online":                      {Data: []byte("0-2\n")},
		"sys/devices/system/cpu/cpu2/cpufreq/base_frequency": {Data: []byte("1500000\n")},
		"proc/cpuinfo": {Data: []byte("cpu MHz : 2400.5\n")},
	})
	h.usable = func(core int) bool { return core != 1 }
	n := Node{machine: newMachine(h)}
	if diff := cmp.Diff([]Core{{0, 2400}, {2, 1500}}, n.UsableCores()); diff != "" {
		t.Error(diff)
	}
	if mhz := n.CoreMHz(); mhz != 2100 { // mean of all three
		t.Errorf("a core has %v MHz", mhz)
	}
	var none Node
	if none.UsableCores() != nil || none.CoreMHz() != 0 {
		t.Errorf("a node that is not measured has %v, %v MHz", none.UsableCores(), none.CoreMHz())
	}
}

func TestDistribution(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		files         map[string]string
		name, version string
	}{
		{map[string]string{"etc/redhat-release": "Red Hat Enterprise Linux release 9.3 (Plow)"}, "redhat", "9.3"},
		{map[string]string{"etc/redhat-release": "CentOS Linux release 7.9.2009 (Core)", "etc/os-release": "ID=centos\nVERSION_ID=7"}, "centos", "7.9.2009"},
		{map[string]string{"etc/redhat-release": "Fedora release 43 (Rawhide)"}, "fedora", "rawhide"},
		{map[string]string{"etc/oracle-release": "Oracle Linux Server release 8.9", "etc/redhat-release": "Red Hat Enterprise Linux release 8.9"}, "oracle", "8.9"},
		{map[string]string{"etc/system-release": "Amazon Linux release 2023.6.20241010 (Amazon Linux)"}, "amazon", "2023.6.20241010"},
		{map[string]string{"etc/redhat-release": "", "etc/os-release": "ID='nixos'\nVERSION_ID=\"25.05\""}, "nixos", "25.05"},
		{map[string]string{"etc/debian_version": "13.0", "etc/lsb-release": "DISTRIB_ID=Debian\nDISTRIB_RELEASE=13"}, "debian", "13.0"},
		{map[string]string{"etc/debian_version": "trixie/sid", "etc/lsb-release": "DISTRIB_ID=LinuxMint\nDISTRIB_RELEASE=22"}, "linuxmint", "22"},
		{nil, "", ""},
	} {
		root := fstest.MapFS{}
		for file, text := range tc.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if name, version := testHost(root).distribution(); name != tc.name || version != tc.version {
			t.Errorf("%v: %q %q, want %q %q", tc.files, name, version, tc.name, tc.version)
		}
	}
}

// countedFS counts opened files.
type countedFS struct {
	fs.FS
	opened map[string]int
}

func (c countedFS) Open(name string) (fs.File, error) {
	c.opened[name]++
	return c.FS.Open(name)
}

func TestAttributesAreMeasuredLazily(t *testing.T) {
	t.Parallel()
	root := countedFS{fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal: 1 kB\n")}}, map[string]int{}}
	n := Node{Attributes: map[string]string{"cpu.arch": "mine"}, machine: newMachine(testHost(root))}
	same := n // copies share measurements
	n.Attribute("cpu.arch")
	n.Attribute("nope.at.all")
	n.Lookup("${node.class}")
	if len(root.opened) > 0 {
		t.Errorf("read for nothing: %v", root.opened)
	}
	for range 3 {
		for _, node := range []*Node{&n, &same} {
			if got, _ := node.Attribute("memory.totalbytes"); got != "1024" {
				t.Errorf("got %q", got)
			}
		}
	}
	if want := map[string]int{"proc/meminfo": 1}; !cmp.Equal(want, root.opened) {
		t.Errorf("opened %v", root.opened)
	}
	if got := n.AllAttributes()["cpu.arch"]; got != "mine" {
		t.Errorf("what is known beforehand lost to what was measured: %q", got)
	}
}
