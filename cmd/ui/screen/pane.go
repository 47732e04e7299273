package screen

// pane shows one aspect of the run, next to the tree. Its lines are computed after
// each change, so that it only stores the view of the user: how it is scrolled,
// sorted, searched. To add a pane, write it in its own file and add it to New.
type pane struct {
	title    string    // for its tab: one word
	bindings []binding // its keys, for the bottom line and the help
	content
}

type content interface {
	// lines returns what the pane shows in a space: at most height lines, of any
	// width. The Model cuts and fills them. Untrusted text goes through Text.
	lines(width, height int) []Line
	// key handles a key while the pane has the focus, and reports whether it did. Keys
	// that it does not handle are those of the Model, see globalBindings.
	key(k Key) (handled bool)
}

// scroller is the part of a list that a pane shows. The zero value shows its beginning.
type scroller struct {
	top    int
	height int // of the latest window
}

// window returns the visible part of a list with a number of lines.
func (s *scroller) window(n, height int) (from, to int) {
	s.height = height
	s.top = max(0, min(s.top, n-height))
	return s.top, min(n, s.top+height)
}

// scroll moves the window down by a number of lines.
func (s *scroller) scroll(n int) { s.top = max(0, s.top+n) }

// key scrolls, and reports whether the key is one that scrolls.
func (s *scroller) key(k Key) bool {
	n, ok := moves(k, max(1, s.height-1))
	s.scroll(n)
	return ok
}

// tail is a scroller that begins at the end of its list, and stays there until the user
// scrolls up.
type tail struct {
	scroller
	away bool // from the end
	n    int  // length of the list
}

// window returns the visible part of a list with a number of lines.
func (t *tail) window(n, height int) (from, to int) {
	if t.n = n; !t.away {
		t.top = n
	}
	return t.scroller.window(n, height)
}

// key scrolls, and reports whether the key is one that scrolls.
func (t *tail) key(k Key) bool {
	if k == "f" {
		t.away = !t.away
		return true
	}
	handled := t.scroller.key(k)
	if handled {
		t.away = t.top+t.height < t.n
	}
	return handled
}

// tailBindings are the keys of a tail that are not those of every list.
var tailBindings = []binding{{keys: "f", does: "follow", help: "follow new lines, or stay; G and End follow, too"}}
