job "never" {
  type = "batch"
  periodic {
    crons = ["0 0 30 2 *"]
  }
  group "app" {
    task "server" {
      driver = "docker"
      config {
        image = "x"
      }
    }
  }
}
