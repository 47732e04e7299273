package screen

// Key is a key that was pressed: a character, or the name of a key such as "up",
// "enter", "esc", "tab", "ctrl+l".
type Key string

// Mouse is what was done with the mouse.
type Mouse struct {
	X, Y  int
	Click bool // the left button was pressed
	Wheel int  // lines to scroll down; negative: up
}

// binding is a key and what it does.
type binding struct {
	keys []Key
	name string // how the help calls the keys; empty: the first one
	does string // in one or two words, for the bottom line
	help string // a sentence for the help
}

// label returns what the bottom line and the help call the keys.
func (b binding) label() string {
	if b.name != "" {
		return b.name
	}
	return string(b.keys[0])
}
