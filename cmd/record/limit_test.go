package record

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// The directory of an archive may be read up to a limit, in total.
func TestLimitedReaderAt(t *testing.T) {
	t.Parallel()
	l := &limitedReaderAt{strings.NewReader("0123456789"), 5}
	p := make([]byte, 3)
	if n, err := l.ReadAt(p, 4); n != 3 || err != nil || string(p) != "456" {
		t.Errorf("%d bytes, %q, %v", n, p, err)
	}
	if n, err := l.ReadAt(p[:2], 0); n != 2 || err != nil || string(p[:2]) != "01" {
		t.Errorf("up to the limit: %d bytes, %q, %v", n, p, err)
	}
	if n, err := l.ReadAt(p[:1], 0); n != 0 || err == nil || err.Error() != "too large" {
		t.Errorf("after the limit: %d bytes, %v", n, err)
	}
}

// The latest run of a job counts, unless it has not ended or an agent has it.
func TestLatest(t *testing.T) {
	t.Parallel()
	var got []string
	for _, r := range Latest([]*Run{
		{Job: "web", ID: "2", Live: true}, {Job: "web", ID: "1"}, {Job: "db", ID: "4"}, {Job: "db", ID: "3"}, {Job: "queue", ID: "5", Kept: true}, {Job: "cron", ID: "6"},
	}) {
		got = append(got, r.Name())
	}
	if names := strings.Join(got, " "); names != "db/4 cron/6" {
		t.Errorf("the latest runs are %s", names)
	}
}

// Names in events, which may come from anyone, lead nowhere else.
func TestOutputOfStrangeNames(t *testing.T) {
	t.Parallel()
	d := directory(leaktest.TempDir(t))
	for _, names := range [][2]string{{"..", "t"}, {"a/b", "t"}, {"/a", "t"}, {"a", "../t"}, {"a", "b/t"}} {
		want := fmt.Sprintf("cannot read the output of task %q of allocation %q: these are not valid names", names[1], names[0])
		if out, err := d.output(names[0], names[1], client.Log{Stream: event.Stdout}); out != nil || err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v", names, out, err)
		}
	}
	if _, err := d.output("a", "t", client.Log{Stream: event.Stdout}); err != nil && strings.Contains(err.Error(), "not valid names") {
		t.Error(err)
	}
	for _, in := range []directory{d, "/none"} {
		if _, err := in.open("none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file that is not there: %v", err)
		}
	}
}
