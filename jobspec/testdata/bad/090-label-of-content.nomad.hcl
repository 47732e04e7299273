job "labelled" {
  group "g" {
    dynamic "task" {
      for_each = ["a"]
      labels   = [task.value]
      content "a" {
        driver = "raw_exec"
      }
    }
  }
}
