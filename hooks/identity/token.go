package identity

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/event"
	"taskrun/hooks"
)

// issuer and keyID tell whoever sees a token that no cluster made it.
const (
	issuer = "taskrun.invalid"
	keyID  = "taskrun-local"
)

// key signs the tokens of this process. Nobody else knows it and nobody keeps
// it, so a token proves nothing anywhere.
var key = sync.OnceValues(func() (ed25519.PrivateKey, error) {
	_, private, err := ed25519.GenerateKey(nil)
	return private, err
})

// claims are what Nomad puts into the token of a workload.
type claims struct {
	Issuer     string   `json:"iss"`
	Subject    string   `json:"sub"`
	Audience   []string `json:"aud,omitempty"`
	IssuedAt   int64    `json:"iat"`
	NotBefore  int64    `json:"nbf"`
	Expires    int64    `json:"exp,omitempty"`
	ID         string   `json:"jti"`
	Namespace  string   `json:"nomad_namespace"`
	Job        string   `json:"nomad_job_id"`
	Allocation string   `json:"nomad_allocation_id"`
	Task       string   `json:"nomad_task"`
}

// token makes the token of an identity, a JWT (RFC 7519) signed with EdDSA.
func token(t hooks.Task, id *api.WorkloadIdentity, region string, now time.Time) (string, error) {
	namespace, job := "default", *t.Job.ID
	if t.Job.Namespace != nil {
		namespace = *t.Job.Namespace
	}
	if t.Job.ParentID != nil && *t.Job.ParentID != "" {
		job = *t.Job.ParentID
	}
	c := claims{
		Issuer:   issuer,
		Subject:  strings.Join([]string{region, namespace, job, *t.Group.Name, t.Task.Name, nameOf(id)}, ":"),
		Audience: id.Audience, IssuedAt: now.Unix(), NotBefore: now.Unix(), ID: event.NewID(),
		Namespace: namespace, Job: job, Allocation: t.Alloc.ID, Task: t.Task.Name,
	}
	if isDefault(id) {
		c.Audience = []string{"nomadproject.io"}
	}
	if id.TTL > 0 {
		c.Expires = now.Add(id.TTL).Unix()
	}
	private, err := key()
	if err != nil {
		return "", fmt.Errorf("cannot make a key: %w", err)
	}
	header, err := json.Marshal(map[string]string{"alg": "EdDSA", "typ": "JWT", "kid": keyID})
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode(header) + "." + encode(payload)
	return signed + "." + encode(ed25519.Sign(private, []byte(signed))), nil
}
