package cmd

import (
	"os"
	"path/filepath"
	"testing"

	"taskrun/cmd/client"
	"taskrun/cmd/console"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
)

// A run in the background is not ready if its engine is gone and has not
// reported how it ended.
func TestARunWithoutAnEngineIsNotReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, err := client.Local(filepath.Join(dir, "gone.sock"))
	if err != nil {
		t.Fatal(err)
	}
	streams, _, _ := ui.Test()
	a := newApp(&console.Console{Streams: streams, Signals: func() (<-chan os.Signal, func()) { return nil, func() {} }}, nil)
	d := source.NewDirectory(server, &client.Self{DataDir: dir, Runs: map[string]string{"web": dir}})
	if err := waitReady(t.Context(), a, d, upOptions{}); err == nil {
		t.Error("it is ready")
	}
}
