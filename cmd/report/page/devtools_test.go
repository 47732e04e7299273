package page

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience limits how long a test waits for the browser.
const patience = time.Minute

// A browser is a headless Chromium. It is driven through the DevTools protocol
// over two pipes: there is no port, and it ends when the pipes are closed.
type browser struct {
	in       *os.File
	mu       sync.Mutex
	last     int
	answers  map[int]chan message
	sessions map[string]*tab
	gone     chan struct{} // closed when it has ended
}

// A message is a command, its answer, or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// chromium returns the path of the browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	if named := os.Getenv("CHROMIUM"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no browser: install chromium, or name one in CHROMIUM")
	return ""
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := chromium(t)
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.Command(path, "--headless=new", "--remote-debugging-pipe", "--user-data-dir="+filepath.Join(home, "profile"),
		"--no-sandbox", // root cannot have one
		"--no-first-run", "--no-default-browser-check", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--disable-sync",
		"--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--force-color-profile=srgb", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // file descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{in: in, answers: map[int]chan message{}, sessions: map[string]*tab{}, gone: make(chan struct{})}
	go b.read(out)
	t.Cleanup(func() {
		_ = b.call("", "Browser.close", object{}, nil) // it may end before it answers
		b.in.Close()
		killed := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		cmd.Wait()
		killed.Stop()
		<-b.gone
	})
	return b
}

// read handles what the browser says, one message after the other, each ended by
// a zero byte.
func (b *browser) read(out io.ReadCloser) {
	defer close(b.gone)
	defer out.Close()
	for r := bufio.NewReader(out); ; {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		answer, tab := b.answers[m.ID], b.sessions[m.Session]
		delete(b.answers, m.ID)
		b.mu.Unlock()
		switch {
		case answer != nil:
			answer <- m
		case tab != nil && m.Method != "":
			tab.note(m)
		}
	}
}

// call sends a command and unmarshals its result, if that is wanted.
func (b *browser) call(session, method string, params, result any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan message, 1)
	b.mu.Lock()
	b.last++
	m := message{ID: b.last, Session: session, Method: method, Params: text}
	b.answers[m.ID] = answer
	text, err = json.Marshal(m)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case m = <-answer:
	case <-b.gone:
		return errors.New("the browser has ended")
	case <-time.After(patience):
		return fmt.Errorf("no answer to %s", method)
	}
	if m.Error != nil {
		return fmt.Errorf("%s: %s", method, m.Error.Message)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

// A tab shows a page.
type tab struct {
	t        *testing.T
	browser  *browser
	session  string
	loaded   chan struct{}
	mu       sync.Mutex
	troubles []string // errors of the console, and requests
	allowed  string   // the only address that may be requested
}

type object = map[string]any

func (b *browser) newTab(t *testing.T, width, height int) *tab {
	t.Helper()
	var target struct{ TargetID string }
	if err := b.call("", "Target.createTarget", object{"url": "about:blank"}, &target); err != nil {
		t.Fatal(err)
	}
	var attached struct{ SessionID string }
	if err := b.call("", "Target.attachToTarget", object{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		t.Fatal(err)
	}
	tab := &tab{t: t, browser: b, session: attached.SessionID, loaded: make(chan struct{}, 1)}
	b.mu.Lock()
	b.sessions[tab.session] = tab
	b.mu.Unlock()
	t.Cleanup(func() { _ = b.call("", "Target.closeTarget", object{"targetId": target.TargetID}, nil) })
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		tab.call(domain+".enable", nil, nil)
	}
	tab.call("Emulation.setDeviceMetricsOverride", object{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	return tab
}

// note remembers what must not happen.
func (b *tab) note(m message) {
	var p struct {
		Type             string
		Entry            struct{ Level, Text string }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		Request struct{ URL string }
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case m.Method == "Page.loadEventFired":
		select {
		case b.loaded <- struct{}{}:
		default:
		}
	case m.Method == "Runtime.exceptionThrown":
		b.troubles = append(b.troubles, "exception: "+p.ExceptionDetails.Text+" "+p.ExceptionDetails.Exception.Description)
	case m.Method == "Runtime.consoleAPICalled":
		b.troubles = append(b.troubles, "console: "+p.Type)
	case m.Method == "Log.entryAdded":
		b.troubles = append(b.troubles, p.Entry.Level+": "+p.Entry.Text)
	case m.Method == "Network.requestWillBeSent" && p.Request.URL != b.allowed && !strings.HasPrefix(p.Request.URL, "data:"):
		b.troubles = append(b.troubles, "request: "+p.Request.URL)
	}
}

func (b *tab) call(method string, params, result any) {
	b.t.Helper()
	if params == nil {
		params = object{}
	}
	if err := b.browser.call(b.session, method, params, result); err != nil {
		b.t.Fatal(err)
	}
}

// open shows a file and waits until it has been drawn.
func (b *tab) open(file string) {
	b.t.Helper()
	b.mu.Lock()
	b.allowed = "file://" + file
	b.mu.Unlock()
	b.call("Page.navigate", object{"url": b.allowed}, nil)
	select {
	case <-b.loaded:
	case <-b.browser.gone:
		b.t.Fatal("the browser has ended")
	case <-time.After(patience):
		b.t.Fatal("the page does not load")
	}
}

// settle waits until the page has drawn what it has to draw.
func (b *tab) settle() {
	b.t.Helper()
	b.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

// eval returns the value of a JavaScript expression.
func (b *tab) eval(expression string) any {
	b.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", object{"userGesture": true, "expression": expression, "returnByValue": true, "awaitPromise": true}, &got)
	if got.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, got.ExceptionDetails.Exception.Description)
	}
	return got.Result.Value
}

// want fails the test if an expression does not have a value.
func (b *tab) want(expression string, want any) {
	b.t.Helper()
	if n, isInt := want.(int); isInt {
		want = float64(n)
	}
	if got := b.eval(expression); got != want {
		b.t.Errorf("%s is %v, want %v", expression, got, want)
	}
}

// press types keys, each one a character or the name of a key.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		text := key
		switch {
		case key == "Enter":
			text = "\r"
		case len([]rune(key)) > 1:
			text = ""
		}
		b.call("Input.dispatchKeyEvent", object{"type": "keyDown", "key": key, "text": text, "windowsVirtualKeyCode": map[string]int{"Escape": 27}[key]}, nil)
		b.call("Input.dispatchKeyEvent", object{"type": "keyUp", "key": key}, nil)
	}
	b.settle()
}

// mouse sends an event of the mouse, with more fields.
func (b *tab) mouse(kind string, x, y float64, more object) {
	b.t.Helper()
	params := object{"type": kind, "x": x, "y": y}
	for name, value := range more {
		params[name] = value
	}
	b.call("Input.dispatchMouseEvent", params, nil)
}

// screenshot writes what the tab shows to a file of the directory that
// SCREENSHOTS names, for people to look at.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", object{"format": "png"}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// quiet fails the test if there was an error in the console, or a request.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, trouble := range b.troubles {
		b.t.Error(trouble)
	}
}
