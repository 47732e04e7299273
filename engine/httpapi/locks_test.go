package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// A variable is locked, renewed and released by Nomad's client.
func TestLocks(t *testing.T) {
	t.Parallel()
	f, variables := serveVariables(t)
	v, _, err := variables.Create(&api.Variable{Path: "leader", Items: api.VariableItems{"k": "v"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	held, meta, err := variables.AcquireLock(v, nil)
	if err != nil || held.Lock == nil || held.Lock.ID == "" || held.Lock.TTL != "15s" || held.Lock.LockDelay != "15s" ||
		held.Items["k"] != "v" || held.ModifyIndex <= v.ModifyIndex || meta.LastIndex != held.ModifyIndex {
		t.Fatalf("%+v, %v", held, err)
	}
	if now, meta, err := variables.RenewLock(&api.Variable{Path: "leader", Lock: held.Lock}, nil); err != nil || meta.LastIndex != held.ModifyIndex || now.ModifyIndex != held.ModifyIndex || now.Lock.ID != held.Lock.ID {
		t.Errorf("renewed: %+v, %v", now, err)
	}
	if list, _, err := variables.List(nil); err != nil || len(list) != 1 || list[0].Lock == nil {
		t.Errorf("list: %v, %v", list, err)
	}
	var conflict api.ErrCASConflict
	if _, _, err := variables.CheckedUpdate(&api.Variable{Path: "leader", ModifyIndex: held.ModifyIndex, Items: api.VariableItems{"k": "x"}}, nil); !errors.As(err, &conflict) || conflict.Conflict.Path != "leader" || conflict.Conflict.Items != nil {
		t.Errorf("an update by another client: %v, %+v", err, conflict.Conflict)
	}
	if _, err := variables.CheckedDelete("leader", held.ModifyIndex, nil); !errors.As(err, &conflict) {
		t.Errorf("a deletion: %v", err)
	}
	own := &api.Variable{Path: "leader", Items: api.VariableItems{"k": "own"}, Lock: &api.VariableLock{ID: held.Lock.ID}}
	if now, _, err := variables.Update(own, nil); err != nil || now.Items["k"] != "own" || now.Lock == nil || now.Lock.ID != held.Lock.ID {
		t.Errorf("an update by the holder: %+v, %v", now, err)
	}
	empty := `{"Namespace":"default","Path":"leader","CreateIndex":0,"ModifyIndex":0,"CreateTime":0,"ModifyTime":0,"Items":null}`
	f.answers(t, map[string]string{
		"PUT /v1/var/leader?lock-acquire {}":                       "409 " + empty,
		`PUT /v1/var/leader?lock-renew {"Lock":{"ID":"x"}}`:        "409 attempting to modify locked variable",
		`PUT /v1/var/leader?lock-release {"Lock":{"ID":"x"}}`:      "409 " + empty,
		`PUT /v1/var/leader {"Items":{"k":"v"}}`:                   "409 " + empty,
		`PUT /v1/var/leader?namespace=other {"Items":{"k":"v"}}`:   `200 {"Namespace":"other",…`,
		"DELETE /v1/var/leader":                                    "409 " + empty,
		`PUT /v1/var/leader?namespace=other&lock-release {}`:       "400 missing lock information",
		`PUT /v1/var/leader?lock-acquire {"Lock":{"LockDelay":1}}`: "400 …",
	})
	free, meta, err := variables.ReleaseLock(&api.Variable{Path: "leader", Lock: held.Lock}, nil)
	if err != nil || meta.LastIndex != free.ModifyIndex || free.Lock != nil || len(free.Items) != 0 || free.ModifyIndex <= held.ModifyIndex {
		t.Errorf("released: %+v, %v", free, err)
	}
	if now, _, err := variables.Read("leader", nil); err != nil || now.Lock != nil || now.Items["k"] != "own" {
		t.Errorf("after the release: %+v, %v", now, err)
	}
	resp := f.do("PUT", "/v1/var/leader?lock-release", strings.NewReader(`{"Lock":{"ID":"`+held.Lock.ID+`"}}`))
	if body := readAll(t, resp.Body); resp.StatusCode != http.StatusConflict || body != "variable doesn't hold a lock" {
		t.Errorf("a second release: %d %s", resp.StatusCode, body)
	}
}

// The lease of Nomad's client, as `nomad var lock` uses it, runs one function at
// a time.
func TestLockLeaser(t *testing.T) {
	t.Parallel()
	f, variables := serveVariables(t)
	lease := func(run func()) error {
		v := api.Variable{Path: "app/lock", Lock: &api.VariableLock{TTL: "10s", LockDelay: "15s"}}
		locks, err := f.client.Locks(api.WriteOptions{}, v)
		if err != nil {
			return err
		}
		leaser := f.client.NewLockLeaser(locks, api.LockLeaserOptionWithEarlyReturn(true))
		return leaser.Start(t.Context(), func(context.Context) error { run(); return nil })
	}
	ran := 0
	for range 2 {
		if err := lease(func() {
			ran++
			if err := lease(func() { t.Error("two have the lock") }); err != nil {
				t.Error(err)
			}
		}); err != nil {
			t.Error(err)
		}
	}
	if v, _, err := variables.Read("app/lock", nil); err != nil || v.Lock != nil || ran != 2 {
		t.Errorf("in the end %+v, %v, %d have run", v, err, ran)
	}
}

// The ID of a lock is the right to change the variable: neither events nor tasks
// see it.
func TestLockIDsAreSecret(t *testing.T) {
	t.Parallel()
	f, variables := serveVariables(t)
	events, err := f.client.EventStream().Stream(t.Context(), map[api.Topic][]string{"Variable": {"*"}}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := variables.AcquireLock(&api.Variable{Path: "a", Items: api.VariableItems{"k": "s3cr3t"}}, nil); err != nil {
		t.Fatal(err)
	}
	for batch := range events {
		if batch.Err != nil {
			t.Fatal(batch.Err)
		}
		if batch.IsHeartbeat() {
			continue
		}
		if m := batch.Events[0].Payload["Metadata"].(map[string]any); m["Lock"] != nil || m["Items"] != nil || m["Path"] != "a" {
			t.Errorf("the event has %v", m)
		}
		return
	}
}
