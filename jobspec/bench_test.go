package jobspec_test

import (
	"bytes"
	"fmt"
	"testing"

	"taskrun/jobspec"
)

// smallJob is a job of about a hundred lines.
func smallJob() []byte {
	var b bytes.Buffer
	b.WriteString("job \"small\" {\n  datacenters = [\"dc1\"]\n  type = \"batch\"\n  group \"g\" {\n    count = 2\n")
	for i := range 6 {
		writeTask(&b, i)
	}
	b.WriteString("  }\n}\n")
	return b.Bytes()
}

// largeJob has n tasks.
func largeJob(n int) []byte {
	var b bytes.Buffer
	b.WriteString("job \"large\" {\n  group \"g\" {\n")
	for i := range n {
		writeTask(&b, i)
	}
	b.WriteString("  }\n}\n")
	return b.Bytes()
}

func writeTask(b *bytes.Buffer, i int) {
	fmt.Fprintf(b, `    task "t%d" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo ${NOMAD_TASK_NAME} %d"]
      }
      env {
        INDEX = %d
        NAME  = upper("task-${NOMAD_ALLOC_INDEX}")
      }
      resources {
        cpu    = 100
        memory = 64
      }
    }
`, i, i, i)
}

func BenchmarkParseSmall(b *testing.B) { benchmarkParse(b, smallJob()) }

func BenchmarkParseTenThousandTasks(b *testing.B) { benchmarkParse(b, largeJob(10000)) }

func benchmarkParse(b *testing.B, text []byte) {
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: "bench.nomad.hcl", Text: text}, jobspec.Options{})
		if file.Job == nil {
			b.Fatal(diagnostics)
		}
	}
}
