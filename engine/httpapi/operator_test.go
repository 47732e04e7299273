package httpapi_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/workload"
)

func TestSchedulerConfiguration(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	operator := f.client.Operator()
	before, meta, err := operator.SchedulerGetConfiguration(nil)
	if err != nil || before.SchedulerConfig.SchedulerAlgorithm != "binpack" || !before.SchedulerConfig.PreemptionConfig.SystemSchedulerEnabled || meta.LastIndex == 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	want := &api.SchedulerConfiguration{SchedulerAlgorithm: "spread", MemoryOversubscriptionEnabled: true, NodeLimitForFeasibilityChecks: 7}
	set, written, err := operator.SchedulerSetConfiguration(want, nil)
	if err != nil || !set.Updated || written.LastIndex <= meta.LastIndex {
		t.Errorf("%+v at %+v, %v", set, written, err)
	}
	after, meta, err := operator.SchedulerGetConfiguration(nil)
	want.CreateIndex, want.ModifyIndex = before.SchedulerConfig.CreateIndex, meta.LastIndex
	if diff := cmp.Diff(want, after.SchedulerConfig); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	f.ask("PUT", "/v1/operator/scheduler/configuration", `{}`, 200, `"Updated":true`)
	if set, now, err := operator.SchedulerGetConfiguration(nil); err != nil || set.SchedulerConfig.SchedulerAlgorithm != "binpack" {
		t.Errorf("without an algorithm: %+v, %v", set, err)
	} else {
		meta = now
	}
	want.ModifyIndex = 1
	if set, _, err := operator.SchedulerCASConfiguration(want, nil); err != nil || set.Updated {
		t.Errorf("an outdated index: %+v, %v", set, err)
	}
	want.ModifyIndex, want.PauseEvalBroker = meta.LastIndex, true
	if set, _, err := operator.SchedulerCASConfiguration(want, nil); err != nil || !set.Updated {
		t.Errorf("the index: %+v, %v", set, err)
	}
	f.ask("PUT", "/v1/operator/scheduler/configuration", `{"SchedulerAlgorithm":"odd"}`, 400, "invalid scheduler algorithm: odd")
	f.ask("PUT", "/v1/operator/scheduler/configuration?cas=x", `{}`, 400, "Error parsing cas value")
	f.ask("PUT", "/v1/operator/scheduler/configuration", `no`, 400, "Error parsing scheduler config")
}

func TestOneHealthyServer(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	raft, err := f.client.Operator().RaftGetConfiguration(nil)
	if err != nil || len(raft.Servers) != 1 || !raft.Servers[0].Leader || raft.Servers[0].Node != "vm.global" {
		t.Errorf("%+v, %v", raft, err)
	}
	health, _, err := f.client.Operator().AutopilotServerHealth(nil)
	if err != nil || !health.Healthy || len(health.Servers) != 1 || !health.Servers[0].Healthy {
		t.Errorf("%+v, %v", health, err)
	}
	config, _, err := f.client.Operator().AutopilotGetConfiguration(nil)
	if err != nil || !config.CleanupDeadServers || config.ServerStabilizationTime != 10*time.Second || config.LastContactThreshold != 200*time.Millisecond {
		t.Errorf("%+v, %v", config, err)
	}
}

// Other programs verify the tokens of tasks with the served key.
func TestKeySet(t *testing.T) {
	t.Parallel()
	keys := workload.NewKeyring()
	f := serveWith(t, func(cfg *httpapi.Config) { cfg.Keys = keys })
	a := f.do("GET", "/.well-known/jwks.json", nil)
	text := readAll(t, a.Body)
	var set struct {
		Keys []struct{ Kid, Alg, N, E string }
	}
	if err := json.Unmarshal([]byte(text), &set); err != nil || len(set.Keys) != 1 || set.Keys[0].Kid != keys.ID() || set.Keys[0].Alg != "RS256" {
		t.Fatalf("%s, %v", text, err)
	}
	if strings.Contains(text, `"d"`) {
		t.Error("the key is private")
	}
	token, err := keys.Sign(workload.Claims{Subject: "me"})
	if err != nil {
		t.Fatal(err)
	}
	decode := func(text string) []byte {
		t.Helper()
		bytes, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	public := &rsa.PublicKey{N: new(big.Int).SetBytes(decode(set.Keys[0].N)), E: int(new(big.Int).SetBytes(decode(set.Keys[0].E)).Int64())}
	end := strings.LastIndexByte(token, '.')
	sum := sha256.Sum256([]byte(token[:end]))
	if err := rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], decode(token[end+1:])); err != nil {
		t.Error(err)
	}
	f.ask("GET", "/.well-known/openid-configuration", "", 404, "OIDC Discovery endpoint disabled")
	f.ask("GET", "/v1/operator/keyring/keys", "", 200, keys.ID())
}

func TestRefusedEndpoints(t *testing.T) {
	t.Parallel()
	f := serveResident(t)
	for _, tt := range []struct {
		method, path string
		status       int
		text         string
	}{
		{"GET", "/v1/acl/policies", 400, "ACL support disabled"},
		{"PUT", "/v1/acl/bootstrap", 400, "ACL support disabled"},
		{"POST", "/v1/acl/login", 400, "ACL support disabled"},
		{"DELETE", "/v1/acl/token/x", 400, "ACL support disabled"},
		{"GET", "/v1/acl/token/self", 200, "acls-disabled"},
		{"GET", "/v1/quotas", 501, "Nomad Enterprise only endpoint"},
		{"GET", "/v1/quota/x", 501, "Nomad Enterprise only endpoint"},
		{"GET", "/v1/sentinel/policies", 501, "Nomad Enterprise only endpoint"},
		{"GET", "/v1/recommendations", 501, "Nomad Enterprise only endpoint"},
		{"GET", "/v1/operator/license", 204, ""},
		{"GET", "/v1/operator/snapshot", 501, "back up the data directory"},
		{"DELETE", "/v1/operator/raft/peer?id=x", 501, "only one server"},
		{"PUT", "/v1/operator/autopilot/configuration", 501, "no use for autopilot"},
		{"PUT", "/v1/operator/keyring/rotate", 501, "stays the same"},
		{"GET", "/v1/agent/pprof/heap", 501, "not served"},
		{"GET", "/v1/agent/host", 501, "not served"},
		{"PUT", "/v1/agent/join?address=x", 501, "cannot join"},
		{"PUT", "/v1/agent/force-leave?node=x", 501, "cannot join"},
		{"PUT", "/v1/volume/csi/x", 501, "CSI volumes"},
		{"GET", "/v1/volume/csi/x", 404, "volume not found"},
		{"GET", "/v1/plugin/csi/x", 404, "plugin not found"},
		{"PUT", "/v1/node/" + nodeID + "/drain", 501, "not supported by taskrun"},
		{"PUT", "/v1/node/" + nodeID + "/purge", 501, "not supported by taskrun"},
	} {
		f.ask(tt.method, tt.path, "{}", tt.status, tt.text)
	}
	if _, _, err := f.client.Quotas().List(nil); err == nil || !strings.Contains(err.Error(), http.StatusText(http.StatusNotImplemented)) && !strings.Contains(err.Error(), "501") {
		t.Error(err)
	}
}
