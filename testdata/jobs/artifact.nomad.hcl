# A file that is fetched before the task starts.
variable "source" {
  default = "https://example.com/motd.txt"
}

job "artifact" {
  type = "batch"

  group "app" {
    restart {
      attempts = 0
    }

    reschedule {
      attempts = 0
    }

    task "show" {
      driver = "raw_exec"

      artifact {
        source      = var.source
        destination = "local/motd"
        mode        = "file"

        options {
          checksum = "sha256:650b7c3c93d6f1b59b66db5e4f25608a4baf507ddd053fea071bef240dbffd3d"
        }
      }

      config {
        command = "cat"
        args    = ["local/motd"]
      }
    }
  }
}
