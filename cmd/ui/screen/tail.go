package screen

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
var tailBindings = []binding{{keys: []Key{"f"}, does: "follow", help: "follow what is new, or stay; G and End follow, too"}}
