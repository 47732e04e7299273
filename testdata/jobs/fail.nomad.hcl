# A batch job that fails with exit code 3, after one restart.
job "fail" {
  type = "batch"

  group "app" {
    reschedule {
      attempts = 0
    }

    restart {
      attempts = 1
      delay    = "100ms"
      interval = "1h"
      mode     = "fail"
    }

    task "import" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "echo no such table >&2; exit 3"]
      }
    }
  }
}
