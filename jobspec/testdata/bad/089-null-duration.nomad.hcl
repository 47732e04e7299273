variable "wait" {
  default = null
}

job "nulls" {
  group "g" {
    restart {
      interval = null
    }
    task "t" {
      driver       = "raw_exec"
      kill_timeout = var.wait
    }
  }
}
