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

// far is as many lines as no list has.
const far = 1 << 30

// moves returns by how many lines a key moves in a list, and whether it is one that moves.
func moves(k Key, page int) (lines int, ok bool) {
	switch k {
	case "j", "down":
		return 1, true
	case "k", "up":
		return -1, true
	case "pgdn", "ctrl+f", "ctrl+d", "space":
		return page, true
	case "pgup", "ctrl+b", "ctrl+u":
		return -page, true
	case "g", "home":
		return -far, true
	case "G", "end":
		return far, true
	}
	return 0, false
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

// globalBindings are the keys that work everywhere, unless the part with the focus has
// another use for them.
var globalBindings = []binding{
	{keys: []Key{"r"}, does: "restart", help: "restart the task, or all tasks of the row"},
	{keys: []Key{"s"}, does: "stop", help: "stop the task, or all tasks of the row"},
	{keys: []Key{"S"}, does: "start", help: "start the task again, after s has stopped it"},
	{keys: []Key{"x"}, does: "signal", help: "send the task a signal"},
	{keys: []Key{"c"}, does: "scale", help: "change the count of the group"},
	{keys: []Key{"a"}, does: "action", help: "run an action of the task"},
	{keys: []Key{"e"}, does: "shell", help: "open a shell in the task; the screen returns when it ends"},
	{keys: []Key{"b"}, does: "browser", help: "open the address of the task in a browser"},
	{keys: []Key{"y"}, does: "copy", help: "copy the name of the task or, from the output, what is visible"},
	{keys: []Key{"/"}, does: "find", help: "filter the tree; in the output: search"},
	{keys: []Key{"tab"}, name: "Tab", does: "focus", help: "change between the tree and the pane"},
	{keys: []Key{"z"}, does: "zoom", help: "show only the part with the focus"},
	{keys: []Key{"1"}, name: "1 2 …", help: "show another pane; also [ and ]"},
	{keys: []Key{"m"}, help: "leave the mouse to the terminal, to select text; m takes it back"},
	{keys: []Key{"ctrl+z"}, name: "Ctrl-Z", help: "suspend taskrun; fg returns"},
	{keys: []Key{"ctrl+l"}, name: "Ctrl-L", help: "draw the screen again"},
	{keys: []Key{"?"}, does: "help", help: "show or hide this help"},
	{keys: []Key{"q"}, does: "leave", help: "leave the screen; also Ctrl-C"},
}
