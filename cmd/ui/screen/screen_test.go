package screen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// shop is a run with tasks in many states.
func shop(t *testing.T, width, height int) *stage {
	t.Helper()
	s := newStage(t, width, height, job("shop", "web:server,proxy", "db:postgres", "import:load"), job("cron", "night:sweep"))
	web, second, db, load := alloc("shop", "web", 0), alloc("shop", "web", 1), alloc("shop", "db", 0), alloc("shop", "import", 0)
	s.runs(web, "server", "proxy")
	s.runs(second, "server")
	s.runs(db, "postgres")
	s.tell(web, "", event.AllocHealth{Healthy: true})
	s.tell(second, "", event.Check{Service: "web", Check: "alive", Status: "failure"})
	s.tell(db, "postgres", event.TaskState{State: "running", Restarts: 3})
	code := 2
	s.tell(load, "load", event.TaskEvent{TaskEvent: &api.TaskEvent{Type: api.TaskTerminated, Details: map[string]string{"exit_code": "2"}}},
		event.TaskState{State: "dead", Failed: true, ExitCode: &code})
	s.tell(load, "", event.AllocStatus{Status: api.AllocClientStatusFailed, Retry: -1})
	s.Measured(map[Target]Usage{
		targetOf(web, "server"): {12.34, 40 << 20}, targetOf(web, "proxy"): {0, 3 << 20}, targetOf(db, "postgres"): {101.5, 2 << 30},
	})
	s.SetPorts(web.ID, []Port{{"http", "127.0.0.1:8080"}, {"admin", "127.0.0.1:9090"}})
	for i := range 30 {
		s.write(web, "server", event.Stdout, fmt.Sprintf("request %d\n", i))
	}
	s.write(web, "server", event.Stderr, "a \x1b[31mred\x1b[0m line\x1b[2J that is long: "+strings.Repeat("0123456789", 9)+"\n")
	s.write(web, "server", event.Stdout, "10%\r50%\r100%\n\ttab\x00\xff\nlogin: ")
	return s
}

func TestGoldenScreens(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ width, height int }{{80, 24}, {160, 50}, {20, 5}} {
		name := func(what string) string { return fmt.Sprintf("%s_%dx%d", what, size.width, size.height) }
		shop(t, size.width, size.height).golden(name("shop"))
		s := shop(t, size.width, size.height)
		s.keys("tab t w")
		s.golden(name("output"))
		s = shop(t, size.width, size.height)
		s.keys("?")
		s.golden(name("help"))
	}
}

// No size is too small.
func TestEverySizeWorks(t *testing.T) {
	t.Parallel()
	s := shop(t, 1, 1)
	for width := range 130 {
		for height := range 12 {
			s.Resize(width, height)
			for _, keys := range []string{"?", "?", "tab", "z", "tab", "z"} {
				s.keys(keys)
				s.picture()
			}
			s.Mouse(Mouse{X: width / 2, Y: height / 2, Click: true})
			s.Mouse(Mouse{X: width / 2, Y: height / 2, Wheel: -3})
		}
	}
}

func TestTreeKeys(t *testing.T) {
	t.Parallel()
	s := shop(t, 160, 50)
	at := func(want string) {
		t.Helper()
		if got := s.tree.cursor().name; got != want {
			t.Errorf("at %q, want %q", got, want)
		}
	}
	s.picture()
	at("shop/web[0]/server")
	s.keys("j")
	at("shop/web[0]/proxy")
	s.keys("h h")
	s.sees("▸ [0]")
	s.keys("j")
	at("shop/web[1]")
	s.keys("k l down")
	at("shop/web[0]/server")
	s.keys("G")
	at("cron/night")
	s.keys("g")
	at("shop")
	s.keys("/")
	for _, r := range "fail" {
		s.keys(string(r))
	}
	s.keys("enter")
	if got := s.picture(); !strings.Contains(got, "load") || strings.Contains(got, "proxy") {
		t.Errorf("filtered:\n%s", got)
	}
	s.keys("esc")
	s.sees("proxy")
}

func TestMarkedTasksAreShownTogether(t *testing.T) {
	t.Parallel()
	s := shop(t, 160, 50)
	s.picture()
	s.keys("space space")
	if got := s.Shown(); len(got) != 2 || got[0].Task != "server" || got[1].Task != "proxy" {
		t.Errorf("shown %v", got)
	}
	s.sees("◆ server")
	s.keys("k space")
	if got := s.Shown(); len(got) != 1 || got[0].Task != "server" {
		t.Errorf("shown without the proxy %v", got)
	}
	s.keys("u k")
	if got := s.Shown(); len(got) != 1 || got[0].Task != "proxy" { // that of the cursor
		t.Errorf("shown %v", got)
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys string
		want []Order
	}{
		{"r", []Order{{Verb: Restart, Targets: []Target{{"shop-web-0", "server"}}, Label: "shop/web[0]/server", Job: "shop", Group: "web"}}},
		{"s", nil},
		{"s n", nil},
		{"s y", []Order{{Verb: Stop, Targets: []Target{{"shop-web-0", "server"}}, Label: "shop/web[0]/server", Job: "shop", Group: "web"}}},
		{"x backspace backspace backspace U S R 1 enter", []Order{{Verb: Signal, Targets: []Target{{"shop-web-0", "server"}}, Label: "shop/web[0]/server", Job: "shop", Group: "web", Text: "SIGUSR1"}}},
		{"c backspace 5 enter", []Order{{Verb: Scale, Label: "web", Job: "shop", Group: "web", Count: 5}}},
		{"c 5 enter", []Order{{Verb: Scale, Label: "web", Job: "shop", Group: "web", Count: 5}}},
		{"c 1 5 enter", []Order{{Verb: Scale, Label: "web", Job: "shop", Group: "web", Count: 15}}},
		{"c left 5 enter", []Order{{Verb: Scale, Label: "web", Job: "shop", Group: "web", Count: 25}}},
		{"c enter", []Order{{Verb: Scale, Label: "web", Job: "shop", Group: "web", Count: 2}}},
		{"c backspace x enter", nil},
		{"e", []Order{{Verb: Shell, Targets: []Target{{"shop-web-0", "server"}}, Label: "shop/web[0]/server", Job: "shop", Group: "web"}}},
		{"y", []Order{{Verb: Copy, Text: "shop/web[0]/server"}}},
		{"S", nil},
		{"g s y", []Order{{Verb: Stop, Job: "shop", Label: "shop"}}},
		{"g e", nil},
		{"ctrl+z", []Order{{Verb: Suspend}}},
		{"q", []Order{{Verb: Leave}}},
	} {
		s := shop(t, 80, 24)
		s.picture()
		s.keys(c.keys)
		if diff := cmp.Diff(c.want, s.Orders()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.keys, diff)
		}
	}
}

// Pasted text is no order.
func TestPastedTextIsTyped(t *testing.T) {
	t.Parallel()
	s := shop(t, 80, 24)
	s.picture()
	for _, k := range []Key{"r", "s", "y", "enter"} {
		s.Paste(k)
	}
	if got := s.Orders(); got != nil {
		t.Errorf("ordered %v", got)
	}
	s.keys("/")
	s.Paste("d")
	s.Paste("b")
	s.sees("filter: db")
}

// Narrow screens show ports as long as names leave room for them.
func TestPortsOnANarrowScreen(t *testing.T) {
	t.Parallel()
	for names, want := range map[int]int{0: 16, 20: 16, 24: 12, 28: 8, 60: 8} {
		if got := columnsFor(80, names).ports; got != want {
			t.Errorf("with names of %d columns, ports have %d, not %d", names, got, want)
		}
	}
	s := shop(t, 80, 24)
	s.SetPorts("shop-web-1", []Port{{"http", "127.0.0.1:28080"}})
	s.sees("http 28080")
}

func TestLeavingAsks(t *testing.T) {
	t.Parallel()
	s := shop(t, 80, 24)
	s.opts.Leave = []Choice{{"s", "stop the run"}, {"l", "leave it in the background"}}
	s.keys("q")
	s.sees("leave?  s stop the run  l leave it in the background  esc back")
	s.Resize(34, 24)
	s.sees("leave?  s stop  l leave  esc back")
	s.Resize(20, 5)
	s.sees("leave?  s l esc")
	s.keys("esc q l")
	if got := s.Orders(); len(got) != 1 || got[0].Verb != Leave || got[0].Text != "l" {
		t.Errorf("ordered %v", got)
	}
}

func TestSearchAndScroll(t *testing.T) {
	t.Parallel()
	s := shop(t, 80, 24)
	s.picture()
	s.keys("tab / r e q u e s t")
	s.Key("space")
	s.keys("7 enter")
	if got := s.picture(); !strings.Contains(got, "paused") || !strings.Contains(got, "\nrequest 7\n") {
		t.Errorf("not found:\n%s", got)
	}
	s.keys("G")
	s.sees("login:")
	s.keys("g")
	s.sees("request 0")
	s.keys("esc o o")
	if got := s.picture(); strings.Contains(got, "request") || !strings.Contains(got, "a red line") {
		t.Errorf("stderr only:\n%s", got)
	}
	s.keys("o & 1 2 enter f")
	if got := s.picture(); !strings.Contains(got, "request 12") || strings.Contains(got, "request 13") {
		t.Errorf("only lines with 12:\n%s", got)
	}
}

// Scrolling up from the end and down again comes back to the end, and follows again.
func TestScrollingDownFollowsAgain(t *testing.T) {
	t.Parallel()
	s := shop(t, 80, 24)
	s.picture()
	before := s.picture()
	s.keys("tab up up up")
	if got := s.picture(); got == before || !strings.Contains(got, "paused") {
		t.Errorf("scrolled up:\n%s", got)
	}
	s.keys("down down down down")
	if got := s.picture(); strings.Contains(got, "paused") {
		t.Errorf("scrolled down again:\n%s", got)
	}
}

// The user is at the end of the output if the rest of it has room on the screen.
func TestEndOfTheOutput(t *testing.T) {
	t.Parallel()
	s := newStage(t, 80, 24, job("web", "app:server"))
	a := alloc("web", "app", 0)
	s.runs(a, "server")
	for range 40 {
		s.write(a, "server", event.Stdout, "a line\n")
	}
	s.picture()
	p := s.panes[0].content.(*outputPane)
	last := len(p.output.lines)
	for rows, want := range map[int]bool{0: true, p.view.height - 1: true, p.view.height: true, p.view.height + 1: false} {
		if got := p.atEnd(last - rows); got != want {
			t.Errorf("%d rows on a screen of %d are the end: %v", rows, p.view.height, got)
		}
	}
}

// Scrolling passes no line over, although each needs several rows.
func TestScrollingThroughWrappedLines(t *testing.T) {
	t.Parallel()
	s := newStage(t, 80, 24, job("web", "app:server"))
	a := alloc("web", "app", 0)
	s.runs(a, "server")
	const last = 40
	for i := range last + 1 {
		s.write(a, "server", event.Stdout, fmt.Sprintf("<%d> %s\n", i, strings.Repeat("long ", 40)))
	}
	first := func() (n int) {
		_, after, _ := strings.Cut(s.picture(), "<")
		if _, err := fmt.Sscanf(after, "%d>", &n); err != nil {
			t.Fatalf("%v:\n%s", err, s.picture())
		}
		return n
	}
	s.keys("tab")
	end := first()
	s.keys("f")
	stays := first()
	if stays < end-1 { // which may be partly visible
		t.Errorf("it moves from %d to %d when it stays", end, stays)
	}
	s.keys("k")
	if got := first(); got != stays-1 {
		t.Errorf("from %d, one line up is %d", stays, got)
	}
	s.keys("g")
	for at := first(); at < end; at = first() {
		s.keys("j")
		if got := first(); got != at+1 && !strings.Contains(s.picture(), fmt.Sprintf("<%d>", last)) {
			t.Fatalf("from %d, one line down is %d", at, got)
		}
	}
	if got := s.picture(); strings.Contains(got, "paused") {
		t.Errorf("at the end:\n%s", got)
	}
}

// Whatever tasks write, the lines are plain text.
func FuzzClean(f *testing.F) {
	f.Add("plain\ttext")
	f.Add("\x1b]0;title\x07\x9b2J\u009b31m\x00\xff\u202e")
	f.Add("a\rb\x1b[")
	f.Fuzz(func(t *testing.T, line string) {
		for _, r := range clean(line) {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q becomes %q", line, clean(line))
			}
		}
	})
}

// The memory for output has a limit.
func TestOutputIsLimited(t *testing.T) {
	t.Parallel()
	var o output
	key := outputKey{Target{"a", "t"}, event.Stdout}
	flood := []byte(strings.Repeat("x", 1<<20))
	for range 20 {
		o.write(key, begin, flood)
		o.write(key, begin, []byte("\n"))
	}
	for range 3 * maxLines {
		o.write(key, begin, []byte("short\n"))
	}
	size := 0
	for _, l := range o.lines {
		size += len(l.text)
	}
	if len(o.lines) > maxLines || size > maxBytes || size != o.size {
		t.Errorf("%d lines of %d bytes (counted %d) are kept", len(o.lines), size, o.size)
	}
}

// Output of several tasks is in the order of its times.
func TestOutputIsInterleaved(t *testing.T) {
	t.Parallel()
	var o output
	a, b := outputKey{Target{"a", "t"}, event.Stdout}, outputKey{Target{"b", "t"}, event.Stdout}
	o.write(a, begin, []byte("1\n3"))
	o.write(a, begin.Add(2), []byte("!\n5\n"))
	o.write(b, begin.Add(1), []byte("4\n"))
	var got []string
	for _, l := range o.lines {
		got = append(got, l.text)
	}
	if want := []string{"1", "3!", "4", "5"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Typed text is visible, however long the question is.
func TestLongQuestionsShowWhatIsTyped(t *testing.T) {
	t.Parallel()
	for width := range 60 {
		s := shop(t, width, 24)
		s.ChooseAction(Order{Label: "web[0]/server"}, []string{"migrate-the-database", "clear-the-cache", "日本語日本語"})
		s.keys("ctrl+u x y")
		if got := s.picture(); width > 3 && !strings.HasSuffix(strings.TrimSpace(got), "xy") {
			t.Errorf("%d columns:\n%s", width, got)
		}
	}
}

// A question that comes late does not take the place of another one.
func TestLateQuestionIsNotAsked(t *testing.T) {
	t.Parallel()
	s := shop(t, 80, 24)
	s.keys("x")
	s.ChooseAction(Order{Label: "web[0]/server"}, []string{"migrate"})
	s.sees("signal for")
}

// The sum of a row is shown only if it is one of all its tasks.
func TestUsageOfSeveralTasks(t *testing.T) {
	t.Parallel()
	s := newStage(t, 120, 24, job("web", "app:server,proxy"))
	a := alloc("web", "app", 0)
	s.runs(a, "server", "proxy")
	server, proxy := targetOf(a, "server"), targetOf(a, "proxy")
	s.Measured(map[Target]Usage{server: {CPU: 1.5}})
	if got := strings.Count(s.picture(), "1.5%"); got != 1 {
		t.Errorf("one of two tasks is measured, and %d rows show it", got)
	}
	s.Measured(map[Target]Usage{server: {CPU: 1.5}, proxy: {CPU: 2.0}})
	if got := strings.Count(s.picture(), "3.5%"); got != 3 {
		t.Errorf("the sum is in %d rows", got)
	}
}

// A folded row still shows the sum of its tasks, which are measured unless they are many.
func TestTasksOfAFoldedRowAreMeasured(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tasks, want int
	}{{2, 2}, {maxHidden, maxHidden}, {maxHidden + 1, 0}} {
		var names []string
		for i := range tt.tasks {
			names = append(names, fmt.Sprintf("t%03d", i))
		}
		s := newStage(t, 80, 24, job("web", "app:"+strings.Join(names, ",")))
		s.runs(alloc("web", "app", 0), names...)
		s.picture()
		s.keys("g h")
		s.sees("▸ ")
		if got := s.Visible(); len(got) != tt.want {
			t.Errorf("%d of %d folded tasks are measured, want %d", len(got), tt.tasks, tt.want)
		}
	}
}

// Errors in the files of the run stay on the screen until they are fixed, whatever
// happens and whatever the user does.
func TestErrorsInFiles(t *testing.T) {
	t.Parallel()
	const text = "a.hcl has changed: 2 errors\nerror: bad \x1b[2J\n\ta detail"
	for _, size := range []struct{ width, height int }{{80, 24}, {160, 50}, {20, 5}, {20, 2}} {
		s := shop(t, size.width, size.height)
		s.tell(nil, "", event.Notice{Text: text, Unfixed: "2 errors in a.hcl"}, event.Notice{Text: "something else"})
		for _, keys := range []string{"j", "tab", "z", "z", "tab", "k"} {
			s.keys(keys)
			lines := strings.Split(s.picture(), "\n")
			var want []string
			switch {
			case size.height > 5:
				want = []string{"a.hcl has changed: 2 errors", `error: bad \x1b[2J`, "    a detail"}
			case size.height > 2:
				want = []string{"2 errors in a.hcl"}
			}
			if got := lines[size.height-1-len(want) : size.height-1]; !slices.Equal(got, want) {
				t.Errorf("%v, after %s: %q, want %q", size, keys, got, want)
			}
		}
		for _, line := range s.news() {
			if want := line[0].Text[0] != ' '; (line[0].Style == Bad) != want {
				t.Errorf("%v: %q is red: %v", size, line, !want)
			}
		}
		if again := New(Options{Jobs: s.opts.Jobs, Past: []event.Event{{Body: event.Notice{Text: text, Unfixed: "2 errors"}}}}); len(again.news()) != 3 {
			t.Error("a screen that opens later does not show the errors")
		}
		s.tell(nil, "", event.Notice{Text: "well", Fixed: true})
		s.keys("k j")
		if got := s.picture(); strings.Contains(got, "a.hcl") || strings.Contains(got, "a detail") {
			t.Errorf("%v, fixed:\n%s", size, got)
		}
	}
}

// A message of several lines, as of a failed build, has room above the keys until the next
// key. Where it has none, it is cut off.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	const text = "server: main.go has changed: the build has failed\n# shop\n./main.go:11: undefined: hello"
	for _, height := range []int{24, 5} {
		s := shop(t, 80, height)
		s.tell(nil, "", event.Notice{Text: text})
		lines := strings.Split(s.picture(), "\n")
		if height == 5 {
			if got := lines[height-1]; !strings.HasPrefix(got, "server: main.go has changed: the build has failed # shop ./main.go:11") {
				t.Errorf("the last line is %q", got)
			}
			continue
		}
		if got := strings.Join(lines[height-4:height-1], "\n"); got != text || !strings.Contains(lines[height-1], "? help") {
			t.Errorf("at the end:\n%s\n%s", got, lines[height-1])
		}
		s.keys("j")
		if got := s.picture(); strings.Contains(got, "undefined") {
			t.Errorf("after a key:\n%s", got)
		}
	}
}

func TestClickOnTab(t *testing.T) {
	t.Parallel()
	s := shop(t, 160, 50)
	tabs := s.areas().tabs
	for i, x := len(s.panes)-1, 0; i >= 0; i-- {
		for x = tabs.x; x < tabs.x+tabs.width; x++ {
			s.Mouse(Mouse{X: x, Y: tabs.y, Click: true})
			if s.at == i {
				break
			}
		}
		if want := tabs.x + s.titles(false)[:i].Width(); x != want {
			t.Errorf("tab %d begins at column %d, want %d", i+1, x, want)
		}
		s.Mouse(Mouse{X: tabs.x, Y: tabs.y, Click: true})
	}
}
