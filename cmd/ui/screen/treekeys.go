package screen

var treeBindings = []binding{
	{keys: "j k ↓ ↑", help: "move the cursor; also g, G, PgUp, PgDn and the mouse"},
	{keys: "h l ← →", help: "fold and unfold; Enter does both"},
	{keys: "space", does: "mark", help: "show the output of several tasks, interleaved; u removes all marks"},
}

func (t *tree) key(k Key) bool {
	rows := t.shown()
	at := max(0, t.find(t.at))
	move := func(to int) bool {
		if len(rows) > 0 {
			t.at, t.moved = rows[max(0, min(to, len(rows)-1))].id, true
		}
		return true
	}
	if n, ok := moves(k, max(1, t.height-1)); ok && k != "space" {
		return move(at + n)
	}
	if len(rows) == 0 {
		return false
	}
	r := rows[at]
	switch k {
	case "h", "left":
		if r.leaf || r.folded {
			for i := at; i >= 0; i-- {
				if rows[i].level < r.level {
					return move(i)
				}
			}
			return true
		}
		t.fold(r, true)
	case "l", "right", "enter":
		if r.leaf {
			*t.focus = onPane
			return true
		}
		t.fold(r, k == "enter" && !r.folded)
	case "space":
		t.mark(r)
		return move(at + 1)
	case "u":
		clear(t.marked)
	default:
		return false
	}
	return true
}

// click selects the row in a line of a tree of a height, or folds it.
func (t *tree) click(i, height int) {
	rows := t.visible()
	if titled(height) {
		i--
	}
	if i < 0 || i >= len(rows) {
		return
	}
	if r := rows[i]; r.id == t.at && !r.leaf {
		t.fold(r, !r.folded)
	} else {
		t.at, t.moved = r.id, true
	}
}
