package engine_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/taskenv"
)

// kept returns an engine with a directory for its registry.
func kept(t *testing.T, dir string) *engine.Engine {
	t.Helper()
	e := engine.New(engine.Config{DataDir: t.TempDir(), StateDir: dir, Node: &taskenv.Node{ID: "n"}})
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// A later engine has everything that clients have written, and its indexes are
// above all earlier ones, even if nothing was closed.
func TestRegistryOutlivesItsEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var last uint64
		for round := range 4 {
			e := kept(t, dir)
			topic := fold.Topic{Table: fold.Namespaces}
			if round > 0 && (e.State().Index(topic) != last || e.Registry().Namespaces.Get(fmt.Sprint("n", round-1)) == nil) {
				t.Errorf("round %d: index %d, want %d; %v", round, e.State().Index(topic), last, e.Registry().Namespaces.All())
			}
			index, err := e.Registry().Namespaces.Put(fmt.Sprint("n", round), &api.Namespace{Name: fmt.Sprint("n", round)})
			if err != nil || index <= last || e.State().Index(topic) != index {
				t.Fatalf("round %d: index %d after %d, %v", round, index, last, err)
			}
			last = index
			if round%2 == 0 {
				e.Registry().HaltWhen(func() bool { return true }) // it is killed
			}
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
}

// An engine reports losses, and does not start with a registry that it cannot read.
func TestUnreadableRegistry(t *testing.T) {
	t.Parallel()
	write := func(version int, rest string) (dir string) {
		t.Helper()
		dir = t.TempDir()
		header := fmt.Sprintf(`{"format":"taskrun state","version":%d}`, version)
		text := fmt.Sprintf("%08x %s\n%s", crc32.ChecksumIEEE([]byte(header)), header, rest)
		if err := os.WriteFile(filepath.Join(dir, "state"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	e := kept(t, write(99, ""))
	if err := e.Submit(); err == nil || !strings.Contains(err.Error(), "has version 99") {
		t.Errorf("a newer version: %v", err)
	}
	e = kept(t, write(2, "00000000 {\"seq\":0,\"put\":{\"namespace\\u0000object\\u0000web\":{}}}\n"))
	sub := e.SubscribeTo(func(ev event.Event) bool { _, ok := ev.Body.(event.Notice); return ok })
	defer sub.Close()
	if err := e.Submit(); err != nil {
		t.Fatal(err)
	}
	ev, ok := sub.Next(t.Context())
	if !ok || !strings.Contains(ev.Body.(event.Notice).Text, `line 2 is damaged (wrong checksum) ["namespace" "object" "web"]`) {
		t.Errorf("%+v, %v", ev, ok)
	}
}
