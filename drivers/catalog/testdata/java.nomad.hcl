job "java" {
  group "g" {
    task "jar" {
      driver = "java"

      env {
        NAME   = "web"
        PORT   = "80"
        SECRET = "s"
      }

      config {
        jar_path    = "local/web.jar"
        jvm_options = ["-Xmx${PORT}m"]
        args        = ["serve"]
        work_dir    = "/srv"
        pid_mode    = "private"
        ipc_mode    = "host"
        cap_add     = ["net_admin"]
        cap_drop    = ["all"]
      }
    }

    task "class" {
      driver = "java"

      env {
        NAME   = "web"
        PORT   = "80"
        SECRET = "s"
      }

      config {
        class      = "Main"
        class_path = "${NAME}"
      }
    }
  }
}
