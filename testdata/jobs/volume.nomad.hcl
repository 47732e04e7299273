# A volume that stays between runs.
job "counter" {
  type = "batch"

  group "app" {
    volume "data" {
      type   = "host"
      source = "counter"
    }

    task "count" {
      driver = "raw_exec"

      volume_mount {
        volume      = "data"
        destination = "/srv/data"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "echo run >> srv/data/runs; wc -l < srv/data/runs | tr -d ' '"]
      }
    }
  }
}
