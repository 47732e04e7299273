job "convert" {
  type = "batch"
  parameterized {
    payload       = "required"
    meta_required = ["day", "kind"]
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
