package screen

// Key is a key that was pressed: a character, or the name of a key such as "up",
// "enter", "esc", "tab", "ctrl+l".
type Key string

// Mouse is an event of the mouse.
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

// binding binds keys to an action.
type binding struct {
	keys string // as the help calls them
	does string // in one or two words, for the bottom line; empty: it is not there
	help string // a sentence for the help
}

// globalBindings are the keys that work everywhere, unless the part with the focus has
// another use for them.
var globalBindings = []binding{
	{keys: "r", does: "restart", help: "restart the task, or all tasks of the row"},
	{keys: "s", does: "stop", help: "stop the task, or all tasks of the row"},
	{keys: "S", does: "start", help: "start the task again, after s has stopped it"},
	{keys: "x", does: "signal", help: "send the task a signal"},
	{keys: "c", does: "scale", help: "change the count of the group"},
	{keys: "a", does: "action", help: "run an action of the task"},
	{keys: "e", does: "shell", help: "open a shell in the task; the screen returns when it ends"},
	{keys: "b", does: "browser", help: "open the address of the task in a browser"},
	{keys: "y", does: "copy", help: "copy the name of the task or, in the output, the visible lines"},
	{keys: "/", does: "find", help: "filter the tree; in the output: search"},
	{keys: "Tab", does: "focus", help: "change between the tree and the pane"},
	{keys: "z", does: "zoom", help: "show only the part with the focus"},
	{keys: "1 2 …", help: "show another pane; also [ and ]"},
	{keys: "m", help: "leave the mouse to the terminal, to select text; m takes it back"},
	{keys: "Ctrl-Z", help: "suspend taskrun; fg returns"},
	{keys: "Ctrl-L", help: "draw the screen again"},
	{keys: "?", does: "help", help: "show or hide this help"},
	{keys: "q", does: "leave", help: "leave the screen; also Ctrl-C"},
}
