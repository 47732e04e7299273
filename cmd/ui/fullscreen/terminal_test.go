package fullscreen

import (
	"errors"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"

	"taskrun/cmd/ui/screen"
)

// simulated returns a terminal that shows nothing to anybody.
func simulated(t *testing.T, width, height int) (*Terminal, tcell.SimulationScreen) {
	t.Helper()
	s := tcell.NewSimulationScreen("UTF-8")
	if err := s.Init(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Fini)
	s.SetSize(width, height)
	return &Terminal{screen: s, color: true, inputs: make(chan Input)}, s
}

// row returns the text of a row, and the column of each character.
func row(s tcell.SimulationScreen, y int) (text string, columns map[rune]int) {
	cells, width, _ := s.GetContents()
	columns = map[rune]int{}
	for x, c := range cells[y*width : (y+1)*width] {
		for _, r := range c.Runes {
			columns[r] = x
		}
		text += string(c.Runes)
	}
	return strings.TrimRight(text, " "), columns
}

// The next text begins in the column where the previous one was measured to end.
func TestDrawMeasuresLikeLines(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "plain", "日本語", "é combined: e\u0301", "🚀 rocket", "⚠️ warning", "한글", "▾ ◆ │ …", "🇩🇪 flag"} {
		term, s := simulated(t, 30, 2)
		term.Draw([]screen.Line{append(screen.LineOf(text, screen.Plain).Fit(20), screen.Span{Text: "|"})})
		if got, columns := row(s, 0); columns['|'] != 20 {
			t.Errorf("%q ends in column %d: %q", text, columns['|'], got)
		}
	}
}

// A picture replaces the previous one completely, and is cut off at the edge.
func TestDrawReplacesThePicture(t *testing.T) {
	t.Parallel()
	term, s := simulated(t, 5, 2)
	long := screen.LineOf("日本語日本語", screen.Plain)
	term.Draw([]screen.Line{long, long, long})
	term.Draw([]screen.Line{screen.LineOf("a", screen.Bad)})
	first, _ := row(s, 0)
	second, _ := row(s, 1)
	if first != "a" || second != "" {
		t.Errorf("%q, %q", first, second)
	}
	cells, _, _ := s.GetContents()
	if color, _, attributes := cells[0].Style.Decompose(); color != tcell.ColorMaroon || attributes&tcell.AttrBold == 0 {
		t.Errorf("%v, %v", color, attributes)
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	term, s := simulated(t, 80, 24)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		term.read(done)
	}()
	failure := errors.New("the terminal is gone")
	for _, c := range []struct {
		event tcell.Event
		want  screen.Key
	}{
		{tcell.NewEventKey(tcell.KeyRune, 'ü', tcell.ModNone), "ü"},
		{tcell.NewEventKey(tcell.KeyRune, ' ', tcell.ModNone), "space"},
		{tcell.NewEventKey(tcell.KeyRune, 'x', tcell.ModAlt), "alt+x"},
		{tcell.NewEventKey(tcell.KeyCtrlC, 0, tcell.ModCtrl), "ctrl+c"},
		{tcell.NewEventKey(tcell.KeyCtrlA, 0, tcell.ModCtrl), "ctrl+a"},
		{tcell.NewEventKey(tcell.KeyCtrlZ, 0, tcell.ModCtrl), "ctrl+z"},
		{tcell.NewEventKey(tcell.KeyCtrlBackslash, 0, tcell.ModCtrl), "Ctrl+\\"},
		{tcell.NewEventKey(tcell.KeyEnter, 0, tcell.ModNone), "enter"},
		{tcell.NewEventKey(tcell.KeyBackspace2, 0, tcell.ModNone), "backspace"},
		{tcell.NewEventKey(tcell.KeyF5, 0, tcell.ModNone), "F5"},
	} {
		if err := s.PostEvent(c.event); err != nil {
			t.Fatal(err)
		}
		for in := range term.inputs {
			if in.Resize {
				continue // the first event
			}
			if in.Key != c.want {
				t.Errorf("%q instead of %q", in.Key, c.want)
			}
			break
		}
	}
	for _, e := range []tcell.Event{tcell.NewEventPaste(true), tcell.NewEventKey(tcell.KeyRune, 'q', tcell.ModNone), tcell.NewEventPaste(false)} {
		if err := s.PostEvent(e); err != nil {
			t.Fatal(err)
		}
	}
	if in := <-term.inputs; !in.Pasted || in.Key != "q" {
		t.Errorf("pasted: %+v", in)
	}
	if err := s.PostEvent(tcell.NewEventError(failure)); err != nil {
		t.Fatal(err)
	}
	if in := <-term.inputs; in.Err == nil || !strings.Contains(in.Err.Error(), failure.Error()) {
		t.Errorf("the end: %+v", in)
	}
	if err := s.PostEvent(tcell.NewEventKey(tcell.KeyEnter, 0, tcell.ModNone)); err != nil {
		t.Fatal(err)
	}
	close(done) // nobody receives the last key
	<-ended
}

func TestMouse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		buttons tcell.ButtonMask
		want    *screen.Mouse
	}{
		{tcell.Button1, &screen.Mouse{X: 3, Y: 4, Click: true}},
		{tcell.WheelUp, &screen.Mouse{X: 3, Y: 4, Wheel: -wheelLines}},
		{tcell.WheelDown, &screen.Mouse{X: 3, Y: 4, Wheel: wheelLines}},
		{tcell.Button2, nil},
		{tcell.ButtonNone, nil},
	} {
		got := mouseOf(tcell.NewEventMouse(3, 4, c.buttons, tcell.ModNone))
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%v: %+v instead of %+v", c.buttons, got, c.want)
		}
	}
}

// A goroutine that panics gives the terminal back first; one that ends does not.
func TestRecover(t *testing.T) {
	t.Parallel()
	closed := 0
	term := &Terminal{close: func() { closed++ }}
	run := func(f func()) (v any) {
		defer func() { v = recover() }()
		defer term.Recover()
		f()
		return nil
	}
	if v := run(func() {}); v != nil || closed != 0 {
		t.Errorf("a goroutine that ends: panic %v, closed %d times", v, closed)
	}
	if v := run(func() { panic("oh") }); v != "oh" || closed != 1 {
		t.Errorf("a goroutine that panics: panic %v, closed %d times", v, closed)
	}
}
