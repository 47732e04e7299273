package validate

func (t *task) vault() {
	v := t.t.Vault
	if v == nil {
		return
	}
	at := t.at.Attr("vault")
	mode := deref(v.ChangeMode)
	t.choice(at.Attr("change_mode"), "change mode", mode, "", "noop", "restart", "signal")
	t.changeSignal(at, mode, deref(v.ChangeSignal))
	if len(v.Policies) > 0 {
		t.hint(at.Attr("policies"), "policies has no effect", "a token gets the policies of its role", "write role = …")
	}
}
