package artifact

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/leaktest"
	"taskrun/jobspec/taskenv"
)

// orderOf reads an artifact block with options, given as "name=value".
func orderOf(source, mode string, options ...string) (*order, error) {
	a := &api.TaskArtifact{GetterSource: &source, GetterOptions: map[string]string{}}
	if mode != "" {
		a.GetterMode = &mode
	}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		a.GetterOptions[name] = value
	}
	a.Canonicalize()
	task := &api.Task{Name: "t"}
	b := taskenv.NewBuilder(nil, taskenv.AllocInfo{}, &api.Job{}, &api.TaskGroup{Tasks: []*api.Task{task}}, task).SetClientDir("/alloc")
	b.HostEnv = []string{"WORD=there"}
	return newOrder(a, b.Build())
}

// A source says what is fetched from where, and the options what becomes of it.
// Options that are not for this program are for the server.
func TestOrders(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		source, mode string
		options      []string
		want         string // kind, address, subdirectory, archive, name, destination
	}{
		"file":            {"https://h/x?v=1", "", nil, "http https://h/x?v=1 sub= archive= name=x /alloc/t/local"},
		"option":          {"https://h/x?v=1", "", []string{"token=${WORD}", "v=2"}, "http https://h/x?token=there&v=2 sub= archive= name=x /alloc/t/local"},
		"file name":       {"https://h/x", "", []string{"filename=y"}, "http https://h/x sub= archive= name=y /alloc/t/local"},
		"in mode file":    {"https://h/x", "file", []string{"filename=y"}, "http https://h/x?filename=y sub= archive= name=x /alloc/t/local/x"},
		"archive":         {"https://h/x.zip//a/*?v=1", "", nil, "http https://h/x.zip?v=1 sub=a/* archive=zip name=x.zip /alloc/t/local"},
		"not unpacked":    {"https://h/x.zip", "", []string{"archive=false"}, "http https://h/x.zip sub= archive= name=x.zip /alloc/t/local"},
		"unpacked anyway": {"https://h/x", "", []string{"archive=tar.gz"}, "http https://h/x sub= archive=tar.gz name=x /alloc/t/local"},
		"repository":      {"git::https://h/x.git//sub?ref=main", "", []string{"filename=y"}, "git https://h/x.git?ref=main sub=sub archive= name= /alloc/t/local"},
		"of GitHub":       {"github.com/o/r//sub", "", nil, "git https://github.com/o/r.git sub=/sub archive= name= /alloc/t/local"},
		"git and its URL": {"git::https://github.com/o/r", "", nil, "git https://github.com/o/r sub= archive= name= /alloc/t/local"},
		"no repository":   {"http::github.com/o/r", "", nil, "http github.com/o/r sub= archive= name=r /alloc/t/local"},
		"by ssh":          {"git@h:o/r.git", "", nil, "git ssh://git@h/o/r.git sub= archive= name= /alloc/t/local"},
		"repository here": {"git::/repo", "", nil, "git /repo sub= archive= name= /alloc/t/local"},
		"path":            {"/dir/x", "dir", nil, "file /dir/x sub= archive= name=x /alloc/t/local"},
	} {
		o, err := orderOf(tt.source, tt.mode, tt.options...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := fmt.Sprintf("%s %s sub=%s archive=%s name=%s %s", o.kind, o.address(), o.subdir, o.archive, o.name, o.dest)
		if got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, tt.want)
		}
	}
}

// An order that cannot be carried out says why, before anything is fetched.
func TestImpossibleOrders(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		source, mode string
		options      []string
		want         string
	}{
		"another kind":        {"s3::https://h/x", "", nil, `sources of kind "s3" are not supported here`},
		"not a URL":           {"https://me:a%zz@h/x", "", nil, "the source is not a valid URL: write special characters in user name and password as %XX"},
		"out of a directory":  {"https://h/x.zip//a/../..", "", nil, `subdirectory "a/../.." leads out of the download`},
		"checksum of git":     {"git::https://h/x.git", "", []string{"checksum=md5:d41d8cd98f00b204e9800998ecf8427e"}, "a checksum is for a file, not for a repository"},
		"kind of checksum":    {"https://h/x", "", []string{"checksum=crc:00"}, `checksum "crc:00" is not md5:HEX, sha1:HEX, sha256:HEX or sha512:HEX`},
		"long checksum":       {"https://h/x", "", []string{"checksum=md5:d41d8cd98f00b204e9800998ecf8427e00"}, `checksum "md5:d41d8cd98f00b204e9800998ecf8427e00" does not have the 32 hexadecimal digits of md5`},
		"not hexadecimal":     {"https://h/x", "", []string{"checksum=sha1:x"}, `checksum "sha1:x" does not have the 40 hexadecimal digits of sha1`},
		"not a name":          {"https://h/x", "", []string{"filename=../y"}, `"../y" is not a name for a file`},
		"no name":             {"https://h/", "", nil, `"/" is not a name for a file`},
		"part of a file":      {"https://h/x//sub", "", nil, `there can be no "sub" in a single file`},
		"part of a packed":    {"https://h/x.zip//sub", "", []string{"archive=0"}, `there can be no "sub" in a single file`},
		"directory":           {"https://h/x", "dir", nil, "the source is not an archive, and http has no directories"},
		"directory by a name": {"https://h/x/", "", nil, "the source is not an archive, and http has no directories"},
		"many in one":         {"https://h/x.gz", "", nil, `gz files hold a single file: write mode = "file", or options { archive = "false" } to keep it packed`},
	} {
		if _, err := orderOf(tt.source, tt.mode, tt.options...); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// A checksum is that of the file, whatever its kind.
func TestChecksums(t *testing.T) {
	t.Parallel()
	name := filepath.Join(leaktest.TempDir(t), "file")
	must(t, os.WriteFile(name, []byte("app"), 0o600))
	for sum, ok := range map[string]bool{
		"md5:d2a57dc1d883fd21fb9951699df71cc7":                                    true,
		" sha1:7d1043473d55bfa90e8530d35801d4e381bc69f0 ":                         true,
		"sha256:a172cedcae47474b615c54d510a5d84a8dea3032e958587430b413538be3f333": true,
		"md5:d41d8cd98f00b204e9800998ecf8427e":                                    false,
	} {
		if err := verify(name, sum); (err == nil) != ok || err != nil && err.Error() != "checksums did not match: expected "+sum+", got md5:d2a57dc1d883fd21fb9951699df71cc7" {
			t.Errorf("%s: %v", sum, err)
		}
	}
	if err := verify(filepath.Join(leaktest.TempDir(t), "none"), "md5:d41d8cd98f00b204e9800998ecf8427e"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without a file: %v", err)
	}
	if err := verify(name, "md5:"); err == nil {
		t.Error("without a checksum it is right")
	}
}

// A file may be as large as the limit, whether its size is announced or not.
func TestSizeLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		announced int64
		size      int
		err       string
	}{
		"as large":             {10, 10, ""},
		"as large, unknown":    {-1, 10, ""},
		"too large":            {11, 11, "the file is larger than the limit of 10 B"},
		"too large, unknown":   {-1, 11, "the file is larger than the limit of 10 B"},
		"larger than it says":  {1, 11, "the file is larger than the limit of 10 B"},
		"smaller than it says": {11, 1, "the file is larger than the limit of 10 B"},
	} {
		m := &meter{}
		m.add(5) // before a redirect
		body := &closing{Reader: strings.NewReader(strings.Repeat("x", tt.size))}
		l := limited{answering(func() *http.Response { return &http.Response{ContentLength: tt.announced, Body: body} }), 10, m}
		text := ""
		resp, err := l.RoundTrip(nil)
		if err == nil {
			var all []byte
			all, err = io.ReadAll(resp.Body)
			text = string(all)
			_ = resp.Body.Close()
		} else if !body.closed {
			t.Errorf("%s: the connection stays open", name)
		}
		if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
		if p := m.progress(); err == nil && (len(text) != tt.size || p.Done != int64(tt.size) || p.Total != tt.announced) {
			t.Errorf("%s: %d bytes, progress %+v", name, len(text), p)
		}
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

type answering func() *http.Response

func (f answering) RoundTrip(*http.Request) (*http.Response, error) { return f(), nil }

// A link leads out if its target is, or would be, outside, or cannot be told.
func TestLeadsOut(t *testing.T) {
	t.Parallel()
	root := openRoot(t, leaktest.TempDir(t))
	must(t, root.Mkdir("dir", 0o755))
	must(t, root.WriteFile("dir/file", nil, 0o600))
	links := map[string]struct {
		target string
		out    bool
	}{
		"in":        {"dir/file", false},
		"dir/up":    {"../dir", false},
		"missing":   {"dir/none", false},
		"absolute":  {"/etc", true},
		"up":        {"..", true},
		"dir/up2":   {"../..", true},
		"dir/gone":  {"../../none", true},
		"round":     {"round", true},
		"byanother": {"up/x", true},
	}
	for link, tt := range links {
		must(t, root.Symlink(tt.target, link))
	}
	for link, tt := range links {
		if got := leadsOut(root, link); got != tt.out {
			t.Errorf("%s, to %s, leads out: %t", link, tt.target, got)
		}
	}
	if !leadsOut(root, "dir/file") {
		t.Error("what is no link is said to lead to a place")
	}
}

// A pattern selects one directory.
func TestFind(t *testing.T) {
	t.Parallel()
	stage := openRoot(t, leaktest.TempDir(t))
	must(t, stage.MkdirAll("got/a1/sub", 0o755))
	must(t, stage.MkdirAll("got/a2", 0o755))
	must(t, stage.WriteFile("got/file", nil, 0o600))
	must(t, stage.Symlink("a1", "got/link"))
	for pattern, tt := range map[string]struct{ want, err string }{
		"a1":     {"got/a1", ""},
		"a1/su?": {"got/a1/sub", ""},
		"?2":     {"got/a2", ""},
		"a*":     {"", `the download has 2 directories named "a*", not one`},
		"none":   {"", `the download has 0 directories named "none", not one`},
		"file":   {"", `"file" is not a directory of the download`},
		"link":   {"", `"link" is not a directory of the download`},
		"[":      {"", "syntax error in pattern"},
	} {
		got, err := find(stage, pattern)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
}

// A move merges directories and replaces files, but neither by the other. The
// modes of directories stay.
func TestMove(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ from, there, err string }{
		"a new file":                  {"file", "", ""},
		"a file over a file":          {"file", "file", ""},
		"a file over a directory":     {"file", "dir", " is a directory"},
		"a new directory":             {"dir", "", ""},
		"a directory over another":    {"dir", "dir", ""},
		"a directory over a file":     {"dir", "file", " is not a directory"},
		"a directory only to read":    {"readonly", "", ""},
		"nothing":                     {"", "", ": no such file or directory"},
		"a directory to read, merged": {"readonly", "dir", ""},
	} {
		stage, dest := leaktest.TempDir(t), leaktest.TempDir(t)
		put := func(dir, what, text string) {
			t.Helper()
			path := filepath.Join(dir, "x")
			switch what {
			case "file":
				must(t, os.WriteFile(path, []byte(text), 0o600))
			case "dir", "readonly":
				must(t, os.Mkdir(path, 0o750))
				must(t, os.WriteFile(filepath.Join(path, text), []byte(text), 0o600))
				if what == "readonly" {
					must(t, os.Chmod(path, 0o555))
					t.Cleanup(func() { _ = os.Chmod(filepath.Join(dest, "x"), 0o700) })
				}
			}
		}
		put(stage, tt.from, "new")
		put(dest, tt.there, "old")
		from, err := openDir(stage)
		must(t, err)
		to, err := openDir(dest)
		must(t, err)
		err = mover{stage: from}.move(from, "x", to, "x")
		must(t, from.Close())
		must(t, to.Close())
		at := filepath.Join(dest, "x")
		if (err == nil) != (tt.err == "") || err != nil && !strings.HasSuffix(err.Error(), at+tt.err) && !strings.HasSuffix(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
		if err != nil {
			continue
		}
		var got []string
		switch tt.from {
		case "file":
			text, _ := os.ReadFile(at)
			got = append(got, string(text))
		default:
			entries, _ := os.ReadDir(at)
			for _, e := range entries {
				got = append(got, e.Name())
			}
		}
		want := []string{"new"}
		if tt.from != "file" && tt.there == "dir" {
			want = append(want, "old")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		mode := map[string]os.FileMode{"file": 0o600, "dir": 0o750, "readonly": 0o555}[tt.from]
		if tt.there == "dir" {
			mode = 0o750
		}
		if info, err := os.Stat(at); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v, want %v", name, info.Mode(), err, mode)
		}
	}
}

// The message about a download depends on its progress.
func TestMeter(t *testing.T) {
	t.Parallel()
	for want, p := range map[string][2]int64{
		`downloading "x", for 0s now`:          {0, 10},
		`downloading "x": 5 B of 10 B, 50 %`:   {5, 10},
		`downloaded "x": unpacking 10 B`:       {10, 10},
		`downloading "x": 5 B so far`:          {5, 0},
		`downloading "x": 5 B of 1.0 KiB, 0 %`: {5, 1024},
	} {
		m := &meter{shown: "x", since: time.Now()}
		m.begin(p[1])
		if n, err := m.Write(make([]byte, p[0])); n != int(p[0]) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if got := m.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The limits that are not set are those of Nomad, and an artifact with all that
// belongs to it has a little more time.
func TestLimits(t *testing.T) {
	t.Parallel()
	want := Config{30 * time.Minute, 100_000_000_000, 30 * time.Minute, 100_000_000_000, 4096}
	if got := (Config{}).withDefaults(); got != want {
		t.Errorf("the defaults are %+v", got)
	}
	own := Config{time.Second, 1, 2 * time.Second, 3, 4}
	if got := own.withDefaults(); got != own {
		t.Errorf("%+v becomes %+v", own, got)
	}
	for c, want := range map[Config]time.Duration{
		own: 31 * time.Minute, {HTTPReadTimeout: time.Hour}: 61 * time.Minute, {GitTimeout: 2 * time.Hour}: 121 * time.Minute,
	} {
		if got := c.deadline(); got != want {
			t.Errorf("%+v: %v, want %v", c, got, want)
		}
	}
}
