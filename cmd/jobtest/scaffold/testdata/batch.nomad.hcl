job "import" {
  type = "batch"
  group "odd" {
    task "load" {
      driver = "raw_exec"
      config {
        command = "load"
      }
    }
    task "report" {
      driver = "raw_exec"
      config {
        command = "report"
      }
      lifecycle {
        hook = "poststop"
      }
    }
  }
}
