job "nightly" {
  type = "batch"
  periodic {
    crons     = ["0 3 * * *", "30 2 * * *"]
    time_zone = "Europe/Berlin"
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "t"
      }
    }
  }
}
