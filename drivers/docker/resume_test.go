package docker

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// TestLastRead finds the last line that was read among those that the engine
// has kept, whichever of the two recorded its time first.
func TestLastRead(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1000, 0)
	kept := func(lines ...string) (list []logLine) {
		for i, text := range lines {
			list = append(list, logLine{begin.Add(time.Duration(i) * 10 * time.Millisecond), text})
		}
		return list
	}
	for _, c := range []struct {
		name string
		kept []logLine
		tail string
		at   int // of the latest read, in ms
		want int
	}{
		{"read before it was kept", kept("1", "2", "3", "4"), "1\n2\n3\n", 15, 2},
		{"kept before it was read", kept("1", "2", "3", "4"), "1\n2\n", 35, 1},
		{"the tail begins before", kept("3", "4"), "1\n2\n3\n", 0, 0},
		{"the tail begins later", kept("1", "2", "3", "4"), "3\n", 20, 2},
		{"a line that has no end yet", kept("1", "2", "3"), "1\n2\n3", 20, 1},
		{"the same line again and again", kept("x", "x", "x", "x"), "x\nx\n", 21, 2},
		{"other lines", kept("a", "b"), "1\n2\n", 0, -1},
		{"none", nil, "1\n", 0, -1},
		{"nothing was read", kept("1"), "", 0, -1},
	} {
		if got := lastRead(c.kept, c.tail, begin.Add(time.Duration(c.at)*time.Millisecond)); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// A log continues after the last line that was read and that the engine has kept;
// right after the time of the last read if the engine knows none of them.
func TestSince(t *testing.T) {
	t.Parallel()
	last := time.Unix(1000, 5e8)
	for answer, want := range map[string]string{
		"":  "1000.500000001 0",
		"x": "1000.500000001 0",
		last.UTC().Format(time.RFC3339Nano) + " other\n": "1000.500000001 0",
		last.UTC().Format(time.RFC3339Nano) + " two\n":   "1000.250000000 1",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
		t.Cleanup(server.Close)
		cli, err := client.New(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithAPIVersion("1.41"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cli.Close() })
		task := &task{cli: cli, container: "c", tty: true, output: &output{}}
		if from, read := task.since(t.Context()); from != "" || read != 0 {
			t.Errorf("before the first read it is %q, %d", from, read)
		}
		task.output.last.Store(last.UnixNano())
		task.output.tail.text = []byte("one\ntwo\n")
		if from, read := task.since(t.Context()); fmt.Sprint(from, " ", read) != want {
			t.Errorf("after %q it is %q, %d, want %s", answer, from, read, want)
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var tail []byte
	var all strings.Builder
	for i := range 1000 {
		line := fmt.Sprintf("line %d\n", i)
		all.WriteString(line)
		tail = addTail(tail, []byte(line))
		if len(tail) > tailLength || !strings.HasSuffix(all.String(), string(tail)) || !strings.HasPrefix(string(tail), "line ") {
			t.Fatalf("after %d lines it is %q", i+1, tail)
		}
	}
	if len(tail) < tailLength/2 {
		t.Errorf("it is %q", tail)
	}
	whole := addTail([]byte("before\n"), []byte(all.String()))
	if string(whole) != string(tail) {
		t.Errorf("at once it is %q", whole)
	}
	if long := addTail([]byte("before\n"), []byte(strings.Repeat("x", 3*tailLength))); len(long) > tailLength || strings.Contains(string(long), "\n") {
		t.Errorf("of a long line it is %q", long)
	}
}
