package drivertest

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
)

// Config decodes a config block, in HCL, against a driver's schema.
func Config(t testing.TB, schema hcldec.Spec, source string) cty.Value {
	t.Helper()
	file, diags := hclparse.NewParser().ParseHCL([]byte(source), "config.hcl")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	val, diags := hcldec.Decode(file.Body, schema, &hcl.EvalContext{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return val
}

// Task returns a task with a config block, in HCL, in an allocation directory
// of its own, and its output. Its environment is PATH and the variables that
// identify a task.
func Task(t testing.TB, driver drivers.Driver, source string) (*drivers.TaskConfig, *Output) {
	t.Helper()
	alloc := randomHex(16)
	output := NewOutput()
	cfg := &drivers.TaskConfig{
		ID:        alloc + "/task/" + randomHex(4),
		AllocID:   alloc,
		Namespace: "default",
		JobName:   "job",
		JobID:     "job",
		GroupName: "group",
		Name:      "task",
		Env: map[string]string{
			"PATH":            os.Getenv("PATH"),
			"NOMAD_ALLOC_ID":  alloc,
			"NOMAD_TASK_NAME": "task",
		},
		AllocDir: t.TempDir(),
		Config:   Config(t, driver.TaskConfigSchema(), source),
		Output:   output,
	}
	if err := os.MkdirAll(filepath.Join(cfg.TaskDir(), "local"), 0o755); err != nil {
		t.Fatal(err)
	}
	return cfg, output
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b)
	return hex.EncodeToString(b)
}
