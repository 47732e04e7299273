job "agents" {
  type = "system"
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "t"
      }
      restart {
        attempts = 0
        mode     = "fail"
      }
    }
  }
}
