job "cache" {
  group "cache" {
    restart {
      attempts = 10
      interval = "5m"
      delay    = "25s"
      mode     = "delay"
    }
    task "redis" {
      driver = "raw_exec"
      config {
        command = "redis"
      }
    }
  }
  group "fails" {
    restart {
      attempts = 10
      interval = "5m"
      delay    = "25s"
      mode     = "fail"
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "t"
      }
    }
  }
}
