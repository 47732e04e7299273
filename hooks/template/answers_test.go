package template

import (
	"testing"

	dep "github.com/hashicorp/consul-template/dependency"

	"taskrun/jobspec/stub"
)

// oddity is a question that consul-template may learn to ask.
type oddity struct {
	dep.Dependency
	text string
	kind dep.Type
}

func (o oddity) String() string { return o.text }
func (o oddity) Type() dep.Type { return o.kind }

// A question that no stub answers is an error, and has no value.
func TestQuestionsWithoutStubs(t *testing.T) {
	t.Parallel()
	a := &answerer{}
	for name, d := range map[string]oddity{
		"Consul": {text: "peerings(x)", kind: dep.TypeConsul}, "Vault": {text: "vault.token(x)", kind: dep.TypeVault},
		"Nomad": {text: "nomad.nodes(x)", kind: dep.TypeNomad}, "another": {text: "odd(x)", kind: dep.Type(99)},
	} {
		kind, _ := question(d)
		if value, known, err := a.answer(d); value != nil || known || err == nil || err.Error() != kind+": there are no stubs for this" {
			t.Errorf("%s: %v, %t, %v", name, value, known, err)
		}
	}
}

// A question tells which stub it needs.
func TestNeedOfAQuestion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]stub.Need{
		"kv.get(app/port@dc2)":                  {Kind: stub.ConsulKey, Label: "app/port"},
		"kv.list(app)":                          {Kind: stub.ConsulKey, Label: "app"},
		"nomad.var.get(a/b@prod.global)":        {Kind: stub.NomadVariable, Label: "a/b@prod"},
		"vault.read(kv/data/x.v3)":              {Kind: stub.VaultSecret, Label: "kv/data/x"},
		"vault.write(pki/issue/web -> 0123abc)": {Kind: stub.VaultSecret, Label: "pki/issue/web"},
		"vault.pki(pki/issue/web->/tmp/x)":      {Kind: stub.VaultSecret, Label: "pki/issue/web"},
		"odd(x@y)":                              {Kind: "odd", Label: "x@y"},
	} {
		if got := NeedOf(oddity{text: text}); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
