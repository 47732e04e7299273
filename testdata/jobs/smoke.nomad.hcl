# A server and the tests of it: the exit code is that of the tests.
# taskrun up --exit-code-from tests testdata/jobs/smoke.nomad.hcl

job "smoke" {
  type = "batch"

  group "app" {
    restart {
      attempts = 0
    }

    reschedule {
      attempts = 0
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "sleep"
        args    = ["3600"]
      }
    }

    task "tests" {
      driver = "raw_exec"

      lifecycle {
        hook = "poststart"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "echo '41 passed, 1 failed'; exit 7"]
      }
    }
  }
}
