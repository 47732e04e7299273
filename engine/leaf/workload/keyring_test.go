package workload_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/workload"
)

// keys is a keyring shared by all tests, because creating a key is slow.
var keys = workload.NewKeyring()

var task = workload.Task{Region: "here", Alloc: "alloc-id", Group: "g", Name: "t", Job: &api.Job{ID: new("job/dispatch-1"), ParentID: new("job"), Namespace: new("team")}}

func sign(t *testing.T, k *workload.Keyring, id *api.WorkloadIdentity, now time.Time) string {
	t.Helper()
	token, err := k.Sign(workload.NewClaims(task, id, now))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func part(t *testing.T, token string, i int) map[string]any {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[i])
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTokensHaveNomadsForm(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 5)
	for _, c := range []struct {
		id       api.WorkloadIdentity
		sub      string
		aud, exp any
	}{
		{api.WorkloadIdentity{}, "here:team:job:g:t:default", "nomadproject.io", nil},
		{api.WorkloadIdentity{Name: "default", Audience: []string{"x"}}, "here:team:job:g:t:default", "nomadproject.io", nil},
		{api.WorkloadIdentity{Name: "aws", Audience: []string{"x"}, TTL: time.Hour}, "here:team:job:g:t:aws", "x", 1_700_003_600.0},
		{api.WorkloadIdentity{Name: "two", Audience: []string{"x", "y"}}, "here:team:job:g:t:two", []any{"x", "y"}, nil},
		{api.WorkloadIdentity{Name: "none"}, "here:team:job:g:t:none", nil, nil},
	} {
		token := sign(t, keys, &c.id, now)
		if diff := cmp.Diff(map[string]any{"alg": "RS256", "kid": keys.ID(), "typ": "JWT"}, part(t, token, 0)); diff != "" {
			t.Errorf("%v: header: %s", c.id, diff)
		}
		got := part(t, token, 1)
		want := map[string]any{
			"sub": c.sub, "iat": 1_700_000_000.0, "nbf": 1_700_000_000.0, "jti": got["jti"],
			"nomad_namespace": "team", "nomad_job_id": "job", "nomad_allocation_id": "alloc-id", "nomad_task": "t",
		}
		if c.aud != nil {
			want["aud"] = c.aud
		}
		if c.exp != nil {
			want["exp"] = c.exp
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: %s", c.id, diff)
		}
		if claims, err := keys.Verify(token, now); err != nil || claims.Task != "t" || claims.Allocation != "alloc-id" {
			t.Errorf("%v: read back %+v, %v", c.id, claims, err)
		}
	}
}

// TestForgedTokensAreRefused tries tokens that a task could send instead of its
// own.
func TestForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	now := time.Now()
	token := sign(t, keys, &api.WorkloadIdentity{}, now)
	payload, err := json.Marshal(part(t, token, 1))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	encode := base64.RawURLEncoding.EncodeToString
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	forge := func(alg jose.SignatureAlgorithm, key any) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, new(jose.SignerOptions).WithType("JWT").WithHeader("kid", keys.ID()))
		if err != nil {
			t.Fatal(err)
		}
		forged, err := jwt.Signed(signer).Claims(part(t, token, 1)).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return forged
	}
	for name, forged := range map[string]string{
		"nothing":           "",
		"no token":          "00000000-0000-0000-0000-000000000000",
		"another key":       forge(jose.RS256, private),
		"a symmetric key":   forge(jose.HS256, []byte(strings.Repeat("k", 32))),
		"another algorithm": forge(jose.RS512, private),
		"no signature":      encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + parts[1] + ".",
		"other claims":      parts[0] + "." + encode([]byte(strings.Replace(string(payload), "alloc-id", "other-id", 1))) + "." + parts[2],
		"another keyring":   sign(t, workload.NewKeyring(), &api.WorkloadIdentity{}, now),
		"expired":           sign(t, keys, &api.WorkloadIdentity{Name: "x", TTL: time.Minute}, now.Add(-2*time.Minute)),
		"not yet valid":     sign(t, keys, &api.WorkloadIdentity{}, now.Add(time.Hour)),
	} {
		if claims, err := keys.Verify(forged, now); err == nil {
			t.Errorf("%s: accepted as %+v", name, claims)
		}
	}
}

// TestKeyFileIsCreatedOnce opens one file as several engines concurrently.
func TestKeyFileIsCreatedOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	var ids [3]string
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() { ids[i] = workload.OpenKeyring(file).ID() })
	}
	all.Wait()
	if ids[0] == "" || ids[0] != ids[1] || ids[0] != ids[2] {
		t.Fatalf("got the keys %q", ids)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	now := time.Now()
	token := sign(t, workload.OpenKeyring(file), &api.WorkloadIdentity{}, now)
	if _, err := workload.OpenKeyring(file).Verify(token, now); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := workload.OpenKeyring(file)
	if _, err := broken.Sign(workload.Claims{}); err == nil || broken.ID() != "" {
		t.Errorf("a broken file: %v, ID %q", err, broken.ID())
	}
	if public, err := broken.Public(); err == nil {
		t.Errorf("a broken file: the public keys are %v", public)
	}
}
