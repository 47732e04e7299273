package verify

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/report/compare"
	"taskrun/cmd/report/scrub"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/stub"
)

// An agent only uses its directory and the loopback interface, and no text from
// files can end a string of its configuration.
func TestConfig(t *testing.T) {
	t.Parallel()
	got := config("/tmp/x", ports{1, 2, 3}, Node{
		Datacenter: "eu", Class: "ssd", Meta: map[string]string{`a"b`: "c\nd"},
		HostVolumes: map[string]stub.HostVolume{"certs": {Path: "/certs", ReadOnly: true}},
	})
	for _, want := range []string{
		`bind_addr = "127.0.0.1"`, `datacenter = "eu"`, "http = 1\n", "rpc = 2\n", "serf = 3\n",
		`alloc_dir = "/tmp/x/a"`, `state_dir = "/tmp/x/c"`, `alloc_mounts_dir = "/tmp/x/m"`, `node_class = "ssd"`,
		`"a\"b" = "c\nd"`, "host_volume \"certs\" {\n    path = \"/certs\"\n    read_only = true\n", `address = "127.0.0.1:1"`,
		"plugin \"raw_exec\" {\n  config {\n    enabled = true\n", "disable_update_check = true",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "region") || strings.Contains(got, "node_pool") {
		t.Errorf("what is Nomad's default is set:\n%s", got)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	h := NewHider([]string{"hunter2", "hunter2000", "abc", "BEGIN KEY\nMIIE\nEND KEY\n"})
	for _, c := range []struct{ name, value, want string }{
		{"GREETING", "hello", "hello"},
		{"GREETING", "hunter2000, hunter2", "(hidden), (hidden)"},
		{"SHORT", "abc", "abc"},
		{"PEM", "BEGIN KEY\nMIIE\nEND KEY\n", "(hidden)"},
		{"URL", "https://me:pw@example.com/", "https://xxxxx@example.com/"},
		{"JWT", "eyJhbGciOiJSUzI1.eyJpYXQi.c2ln", "(hidden)"},
		{"NOMAD_META_auth", "basic", "basic"},
		{"DB_PASSWORD", "", ""},
	} {
		if got := h.Variable(c.name, c.value, scrub.Text); got != c.want {
			t.Errorf("%s=%s: %s, want %s", c.name, c.value, got, c.want)
		}
	}
	one, same, other := h.Variable("DB_PASSWORD", "a", scrub.Text), h.Variable("DB_PASSWORD", "a", scrub.Text), h.Variable("DB_PASSWORD", "b", scrub.Text)
	if one != same || one == other || !strings.HasPrefix(one, "(hidden, ") {
		t.Errorf("%s, %s and %s", one, same, other)
	}
	c := &collector{Side: Side{Hide: h}}
	if got := c.clean(strings.NewReplacer(), []byte("key:\nBEGIN KEY\nMIIE\nEND KEY\nrest\n")); got != "key:\n(hidden)rest" {
		t.Errorf("a secret of several lines: %q", got)
	}
	if NewHider(nil).Variable("DB_PASSWORD", "a", scrub.Text) == one {
		t.Error("the mark is the same in every comparison")
	}
}

func difference(group string, kind compare.Kind, name string, a, b *string) compare.Difference {
	return compare.Difference{Where: compare.Where{Group: group}, Key: compare.Key{Kind: kind, Name: name}, A: a, B: b}
}

// Intended differences have a reason, and those that follow from them, too.
func TestDeclare(t *testing.T) {
	t.Parallel()
	log, dir := "-rw-r--r--", "drwxr-xr-x"
	list := []compare.Difference{
		difference("g", compare.File, "t/executor.out", &log, nil),
		difference("g", compare.File, "t/local/executor.out", &log, nil),
		difference("g", compare.File, "t/local", new("drwxrwxrwx"), &dir),
		difference("g", compare.File, "t/local", &dir, nil),
		difference("g", compare.ExitCode, "", nil, new("0")),
		difference("volumes", compare.ExitCode, "", nil, new("0")),
		difference("volumes", compare.TaskEvent, event.TaskHookFailed, new(`volumes: task driver "raw_exec" for "t" does not support host volumes`), nil),
		difference("volumes", compare.State, "", new("dead"), new("running")),
	}
	Declare(list)
	var got []bool
	for _, d := range list {
		got = append(got, d.Why != "")
	}
	if diff := cmp.Diff([]bool{true, false, true, false, false, true, true, true}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Of tasks that were stopped, the output up to the shorter one's end counts.
func TestAlign(t *testing.T) {
	t.Parallel()
	key := compare.Key{Kind: compare.Output, Name: "stdout"}
	played := func(stopped bool, text string) *Played {
		task := &compare.Task{Stopped: stopped, Values: map[compare.Key]string{key: text}}
		return &Played{Run: &compare.Run{Allocs: []*compare.Alloc{{Tasks: map[string]*compare.Task{"t": task}}}}}
	}
	for _, c := range []struct {
		stopped   bool
		a, b      string
		different bool
	}{
		{true, "1\n2\n3", "1\n2", false},
		{true, "1\n2\n3", "1\n4", true},
		{false, "1\n2\n3", "1\n2", true},
	} {
		a, b := played(c.stopped, c.a), played(true, c.b)
		Align(a, b)
		if one, other := a.Run.Allocs[0].Tasks["t"].Values[key], b.Run.Allocs[0].Tasks["t"].Values[key]; (one != other) != c.different {
			t.Errorf("%q, %q: %q, %q", c.a, c.b, one, other)
		}
	}
	Align(played(true, "1"), &Played{Run: &compare.Run{}})
}
