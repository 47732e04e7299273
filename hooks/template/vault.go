package template

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	dep "github.com/hashicorp/consul-template/dependency"

	"taskrun/jobspec/stub"
)

// version matches the end of a question about one version of a secret.
var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.v[0-9]+$`) })

// vault answers a question for Vault. Each secret has one version, and a write
// (for example to issue a certificate) returns the stub.
func (a *answerer) vault(kind, arg string) (any, bool, error) {
	switch kind {
	case "vault.read":
		secret, ok := a.stubs.Secret(arg)
		if !ok {
			secret, ok = a.stubs.Secret(version().ReplaceAllString(arg, ""))
		}
		return vaultSecret(secret), ok, nil
	case "vault.write":
		path, _, _ := strings.Cut(arg, " -> ")
		secret, ok := a.stubs.Secret(path)
		return vaultSecret(secret), ok, nil
	case "vault.list":
		return a.stubs.SecretNames(arg), true, nil
	case "vault.pki":
		path, _, _ := strings.Cut(arg, "->")
		secret, ok := a.stubs.Secret(path)
		return pems(secret), ok, nil
	}
	return nil, false, noStub(kind)
}

func vaultSecret(s stub.Secret) *dep.Secret {
	if !s.KV2 {
		return &dep.Secret{Data: s.Data}
	}
	return &dep.Secret{Data: map[string]any{
		"data": s.Data,
		"metadata": map[string]any{
			"version": json.Number("1"), "created_time": "", "deletion_time": "", "destroyed": false, "custom_metadata": nil,
		},
	}}
}

// pems converts a secret with a certificate for the function pkiCert.
func pems(s stub.Secret) dep.PemEncoded {
	text := func(name string) string {
		t, _ := s.Data[name].(string)
		return t
	}
	p := dep.PemEncoded{Cert: text("certificate"), Key: text("private_key"), CA: text("issuing_ca")}
	chain, _ := s.Data["ca_chain"].([]any)
	for _, c := range chain {
		if t, ok := c.(string); ok {
			p.CAChain = append(p.CAChain, t)
		}
	}
	return p
}
