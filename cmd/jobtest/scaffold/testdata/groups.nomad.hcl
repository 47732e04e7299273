job "pair" {
  group "a" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "t"
      }
    }
  }
  group "b" {
    count = 0
    task "t" {
      driver = "raw_exec"
      config {
        command = "t"
      }
    }
  }
  group "c $${d}" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "t"
      }
    }
  }
}
