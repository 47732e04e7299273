package page

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/cmd/report/trace"
)

// save writes a page to a file.
func save(t *testing.T, tr *trace.Trace, output []Output) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, tr, output); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What tests read from the page.
const (
	rowsShown  = `document.querySelectorAll("#rows .row:not([hidden])").length`
	rowsDrawn  = `[...document.querySelectorAll("#rows .row")].filter(r => r.querySelector(".bars .running")).length`
	runningNow = `[...document.querySelectorAll(".bars .running")].map(s => s.getBoundingClientRect().top).filter(y => y > 200 && y < innerHeight).length`
	chosen     = `document.querySelector("#rows [aria-selected=true]").getAttribute("aria-label")`
	focused    = `document.activeElement.id || document.activeElement.getAttribute("role")`
	axis       = `[...document.querySelectorAll("#axis text")].map(t => t.textContent).join(" ")`
	nowEvent   = `document.querySelector("#events .now .what")?.textContent ?? ""`
	nowOutput  = `document.querySelector("#output .now .said")?.textContent ?? ""`
	tip        = `document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent`
	pathHidden = `document.getElementById("critical").hidden`
)

func TestBrowser(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	for _, tasks := range []int{1, 20, 200} {
		tr, output := sample(tasks)
		file := save(t, tr, output)
		t.Run(fmt.Sprint(tasks), func(t *testing.T) {
			tab := b.newTab(t, 1280, 760)
			for _, scheme := range []string{"light", "dark"} {
				tab.call("Emulation.setEmulatedMedia", object{"features": []object{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
				tab.open(file)
				tab.settle()
				tab.screenshot(fmt.Sprintf("%d-%s", tasks, scheme))
			}
			tab.want(rowsShown, tasks)
			if drawn := tab.eval(rowsDrawn).(float64); drawn < math.Min(float64(tasks), 15) || drawn > 40 {
				t.Errorf("%v rows are drawn: want those that can be seen, and no more", drawn)
			}
			tab.want(pathHidden, false)
			tab.filter(tr)
			tab.keyboard(tr)
			tab.zoom()
			tab.quiet()
		})
	}
	t.Run("no tasks", func(t *testing.T) {
		tab := b.newTab(t, 1280, 760)
		tab.open(save(t, &trace.Trace{Begin: began, End: began, Live: true, Status: "running"}, nil))
		tab.settle()
		tab.want(`document.getElementById("nothing").textContent`, "There are no tasks.")
		tab.press("j", "n", "f", "Enter", "+", "0", "/")
		tab.quiet()
	})
	t.Run("hostile", func(t *testing.T) { hostile(t, b) })
	t.Run("without script", func(t *testing.T) { withoutScript(t, b) })
	t.Run("first paint", func(t *testing.T) { firstPaint(t, b) })
}

// filter filters by text and by state.
func (b *tab) filter(tr *trace.Trace) {
	b.t.Helper()
	last := tr.Rows[len(tr.Rows)-1]
	b.press("/")
	b.want(focused, "filter")
	b.call("Input.insertText", object{"text": strings.ToUpper(last.Name)}, nil)
	b.settle()
	b.want(rowsShown, 1)
	b.press("Escape")
	b.want(rowsShown, len(tr.Rows))
	b.press("Escape", "/")
	b.call("Input.insertText", object{"text": "nothing is called this"}, nil)
	b.settle()
	b.want(rowsShown, 0)
	b.want(`document.getElementById("nothing").hidden`, false)
	b.press("Escape", "Escape")

	failed := 0
	for _, r := range tr.Rows {
		if r.Failed {
			failed++
		}
	}
	if failed == 0 {
		return
	}
	b.eval(`document.querySelector("#states [data-state=failed]").click()`)
	b.want(rowsShown, failed)
	b.eval(`document.querySelector("#states [data-state=failed]").click()`)
	b.want(rowsShown, len(tr.Rows))
	b.eval(`[...document.querySelectorAll("#kinds button")].find(b => b.textContent === "running").click()`)
	b.settle()
	b.want(runningNow, 0)
	b.eval(`[...document.querySelectorAll("#kinds button")].find(b => b.textContent === "running").click()`)
	b.settle()
}

// keyboard goes to a task, through its events, and to its details.
func (b *tab) keyboard(tr *trace.Trace) {
	b.t.Helper()
	b.press("Escape", "Home") // from the details of a small run
	b.want(focused, "option")
	if first := b.eval(chosen).(string); !strings.HasPrefix(first, tr.Rows[0].Name+": complete") {
		b.t.Errorf("the first task is described as %q", first)
	}
	if len(tr.Rows) > 1 {
		b.press("j", "ArrowDown", "k")
		if got := b.eval(chosen).(string); !strings.HasPrefix(got, tr.Rows[1].Name+":") {
			b.t.Errorf("the keys choose %q, want %q", got, tr.Rows[1].Name)
		}
		b.press("End", "Home")
	}
	b.press("p", "p", "p", "p", "p", "p", "p", "n") // from the first event to the next
	b.want(`document.getElementById("spoken").textContent.includes("Started")`, true)
	if got := b.eval(tip).(string); !strings.Contains(got, "Started") {
		b.t.Errorf("the tip of an event is %q", got)
	}
	b.press("Enter", "n")
	b.screenshot(fmt.Sprintf("%d-details", len(tr.Rows)))
	b.want(`document.querySelectorAll("#events li").length`, len(tr.Rows[0].Marks))
	if got := b.eval(nowEvent).(string); !strings.Contains(got, "http-alive") {
		b.t.Errorf("the details are at event %q, want that of the check", got)
	}
	b.press("n")
	if got := b.eval(nowOutput).(string); !strings.Contains(got, "path=/cart/") {
		b.t.Errorf("the details are at the line %q of the output", got)
	}
	b.press("Escape")
	b.want(`document.getElementById("details").hidden`, true)
	b.press("?")
	b.want(`document.getElementById("help").open`, true)
	b.screenshot(fmt.Sprintf("%d-help", len(tr.Rows)))
	b.press("Escape")
	b.want(`document.getElementById("help").open`, false)
}

// zoom zooms by key, wheel and selection, and points at a bar.
func (b *tab) zoom() {
	b.t.Helper()
	whole := b.eval(axis)
	differs := func(how string) {
		b.t.Helper()
		b.settle()
		if b.eval(axis) == whole {
			b.t.Errorf("%s: the axis did not change: %v", how, whole)
		}
		b.press("0")
		b.want(axis, whole)
	}
	b.press("+")
	differs("the key")
	x, y := 700., 220.
	b.mouse("mouseWheel", x, y, object{"deltaX": 0, "deltaY": -240, "modifiers": 2})
	differs("the wheel")
	b.mouse("mousePressed", x, y, object{"button": "left", "buttons": 1, "clickCount": 1})
	b.mouse("mouseMoved", x+60, y, object{"button": "left", "buttons": 1})
	b.mouse("mouseReleased", x+60, y, object{"button": "left", "clickCount": 1})
	differs("the selection")

	place := b.eval(`(() => { const r = document.querySelector("#rows .running").getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`).([]any)
	b.mouse("mouseMoved", place[0].(float64), place[1].(float64), nil)
	b.settle()
	if got := b.eval(tip).(string); !strings.Contains(got, "running") {
		b.t.Errorf("the tip of a bar is %q", got)
	}
	b.screenshot(fmt.Sprintf("%v-tip", b.eval(rowsShown)))
}

// hostile shows names and output that try to be part of the page.
func hostile(t *testing.T, b *browser) {
	const attack = `</script><img src="https://example.com/" onerror="document.title='broken'">`
	tr, output := small()
	tr.Jobs = []string{attack}
	for _, r := range tr.Rows {
		r.Name = attack
		for i := range r.Marks {
			r.Marks[i].Title, r.Marks[i].Detail = attack, attack
		}
	}
	output[0].Lines[0].Text = attack
	tab := b.newTab(t, 1280, 760)
	tab.open(save(t, tr, output))
	tab.settle()
	tab.press("j", "j", "Enter", "n")
	tab.want(`document.images.length`, 0)
	tab.want(`document.title`, attack)
	tab.want(`document.querySelector("#output .said").textContent`, attack)
	tab.want(`document.querySelector("#events b").textContent`, attack)
	tab.quiet()
}

// withoutScript shows the picture to a browser that runs no script.
func withoutScript(t *testing.T, b *browser) {
	tr, output := sample(20)
	tab := b.newTab(t, 1280, 760)
	tab.call("Emulation.setScriptExecutionDisabled", object{"value": true}, nil)
	tab.open(save(t, tr, output))
	tab.screenshot("20-static")
	tab.want(`document.getElementById("page").offsetHeight`, 0)
	tab.want(`document.querySelector("#static svg").getBoundingClientRect().height > 400`, true)
	tab.quiet()
}

// firstPaint logs how soon something of a page with 100,000 events can be seen.
func firstPaint(t *testing.T, b *browser) {
	tab := b.newTab(t, 1280, 760)
	tab.open(save(t, large(), nil))
	tab.settle()
	tab.want(rowsShown, 200)
	tab.screenshot("large")
	ms := tab.eval(`performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1`)
	t.Logf("first paint of 100,000 events after %.0f ms", ms)
	zoomed := tab.eval(`new Promise(done => { const t = performance.now(); document.getElementById("zoom-in").click();
		requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - t))) })`)
	t.Logf("zoomed after %.0f ms", zoomed)
	tab.quiet()
}
