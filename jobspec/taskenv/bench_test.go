package taskenv

import (
	"fmt"
	"testing"
)

// benchBuilder returns the builder of a typical task in a typical shell.
func benchBuilder() *Builder {
	job, group, task := testJob()
	job.Meta = map[string]string{"team": "core", "owner": "me"}
	task.Env = map[string]string{
		"A": "1", "PORT": "${NOMAD_PORT_http}", "ADDR": "http://${NOMAD_ADDR_http}/", "D": "${NOMAD_TASK_DIR}/x", "E": "plain",
	}
	var environ []string
	for i := range 60 {
		environ = append(environ, fmt.Sprintf("VARIABLE_%d=/some/ordinary/value/%d", i, i))
	}
	b := testBuilder(job, group, task)
	b.HostEnv, b.Ports = environ, []Port{{Label: "http", Value: 20000, HostIP: "127.0.0.1"}}
	return b
}

func BenchmarkBuild(b *testing.B) {
	builder := benchBuilder()
	b.ReportAllocs()
	for b.Loop() {
		builder.Build()
	}
}

func BenchmarkNewBuilderToList(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		benchBuilder().Build().List()
	}
}

func BenchmarkReplace(b *testing.B) {
	e := benchBuilder().Build()
	b.ReportAllocs()
	for b.Loop() {
		e.Replace("http://${NOMAD_ADDR_http}/${attr.kernel.name}?x=${nope}")
	}
}

func BenchmarkDecodeConfig(b *testing.B) {
	e := benchBuilder().Build()
	for name, arg := range map[string]string{
		"plain": "exec server --port $NOMAD_PORT_http", "template": "--port=${NOMAD_PORT_http}", "node": "${attr.kernel.name}",
		"env": `${env["A"]}`,
	} {
		config := map[string]any{"command": "/bin/sh", "args": []any{"-c", arg}}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.DecodeConfig(config, scriptSchema); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFingerprint(b *testing.B) {
	for b.Loop() {
		Fingerprint()
	}
}

func BenchmarkFingerprintAllAttributes(b *testing.B) {
	for b.Loop() {
		n := Fingerprint()
		n.AllAttributes()
	}
}
