package fullscreen

import (
	"github.com/gdamore/tcell/v2"

	"taskrun/cmd/ui/screen"
)

var keyNames = map[tcell.Key]screen.Key{
	tcell.KeyUp: "up", tcell.KeyDown: "down", tcell.KeyLeft: "left", tcell.KeyRight: "right",
	tcell.KeyPgUp: "pgup", tcell.KeyPgDn: "pgdn", tcell.KeyHome: "home", tcell.KeyEnd: "end",
	tcell.KeyEnter: "enter", tcell.KeyEscape: "esc", tcell.KeyTab: "tab", tcell.KeyBacktab: "backtab",
	tcell.KeyBackspace: "backspace", tcell.KeyBackspace2: "backspace", tcell.KeyDelete: "delete",
}

// keyOf returns the name of a key, or the character that was typed.
func keyOf(e *tcell.EventKey) screen.Key {
	switch k := e.Key(); {
	case k == tcell.KeyRune && e.Modifiers()&tcell.ModAlt != 0:
		return screen.Key("alt+" + string(e.Rune()))
	case k == tcell.KeyRune && string(e.Rune()) == " ":
		return "space"
	case k == tcell.KeyRune:
		return screen.Key(string(e.Rune()))
	case keyNames[k] != "":
		return keyNames[k]
	case k >= tcell.KeyCtrlA && k <= tcell.KeyCtrlZ:
		return screen.Key("ctrl+" + string(rune('a'+k-tcell.KeyCtrlA)))
	default:
		return screen.Key(e.Name())
	}
}

// wheelLines is how many lines one step of the wheel scrolls.
const wheelLines = 3

// mouseOf returns a click or a turn of the wheel, or nil for an event without
// effect.
func mouseOf(e *tcell.EventMouse) *screen.Mouse {
	x, y := e.Position()
	m := &screen.Mouse{X: x, Y: y}
	switch b := e.Buttons(); {
	case b&tcell.WheelUp != 0:
		m.Wheel = -wheelLines
	case b&tcell.WheelDown != 0:
		m.Wheel = wheelLines
	case b&tcell.Button1 != 0:
		m.Click = true
	default:
		return nil
	}
	return m
}

var colors = map[screen.Color]tcell.Color{
	screen.Green: tcell.ColorGreen, screen.Yellow: tcell.ColorOlive, screen.Red: tcell.ColorMaroon,
	screen.Cyan: tcell.ColorTeal, screen.Magenta: tcell.ColorPurple, screen.Blue: tcell.ColorNavy,
	screen.BrightCyan: tcell.ColorAqua, screen.BrightMagenta: tcell.ColorFuchsia, screen.BrightBlue: tcell.ColorBlue,
}

// styleOf returns a style as the library has it, with or without its color.
func styleOf(s screen.Style, color bool) tcell.Style {
	style := tcell.StyleDefault.Bold(s.Bold).Dim(s.Faint).Reverse(s.Reverse).Underline(s.Underlined)
	if c, ok := colors[s.Color]; ok && color {
		style = style.Foreground(c)
	}
	return style
}
