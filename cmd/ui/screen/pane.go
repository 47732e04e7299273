package screen

// pane shows one aspect of the run, next to the tree. Its lines are computed from the
// Model whenever something has changed, so a pane keeps only how it is looked at: what
// is scrolled, sorted, searched. To add a pane, write it in a file of its own and add
// it to newPanes.
type pane interface {
	// title returns the name of the pane for its tab: one word.
	title() string
	// lines returns what the pane shows in a space: at most height lines, of any
	// width. The Model cuts and fills them. Untrusted text goes through Text.
	lines(m *Model, width, height int) []Line
	// key handles a key while the pane has the focus, and reports whether it did. Keys
	// that it does not handle are those of the Model, see globalBindings.
	key(m *Model, k Key) (handled bool)
	// bindings are the keys of the pane, for the bottom line and the help.
	bindings() []binding
}

// newPanes returns the panes in the order of their tabs, and of their keys 1, 2, ….
func newPanes() []pane {
	return []pane{&outputPane{follow: true, wrap: true}, &eventsPane{}, &checksPane{}, &deploymentsPane{}, &waterfallPane{span: 1}}
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
	switch page := max(1, s.height-1); k {
	case "j", "down":
		s.scroll(1)
	case "k", "up":
		s.scroll(-1)
	case "pgdn", "ctrl+f", "ctrl+d", "space":
		s.scroll(page)
	case "pgup", "ctrl+b", "ctrl+u":
		s.scroll(-page)
	case "g", "home":
		s.top = 0
	case "G", "end":
		s.top = 1 << 30
	default:
		return false
	}
	return true
}
