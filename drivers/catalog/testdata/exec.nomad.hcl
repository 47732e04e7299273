job "exec" {
  group "g" {
    task "t" {
      driver = "exec"

      env {
        NAME   = "web"
        PORT   = "80"
        SECRET = "s"
      }

      config {
        command  = "/bin/serve"
        args     = ["--port", "${PORT}"]
        work_dir = "/srv"
        pid_mode = "private"
        ipc_mode = "host"
        cap_add  = ["net_admin"]
        cap_drop = ["all"]
      }
    }
  }
}
