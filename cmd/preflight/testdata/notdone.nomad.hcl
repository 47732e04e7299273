job "notdone" {
  group "g" {
    scaling {
      max = 3
    }
    network {
      port "http" {
        host_network = "public" # host_network
      }
    }

    task "t" {
      driver = "raw_exec"

      vault {}
      secret "s" { # secret
        provider = "plugin"
        path     = "x"
      }
      csi_plugin { # csi_plugin
        id   = "x"
        type = "node"
      }
      scaling "cpu" { # scaling
        max = 100
      }
      schedule { # schedule
        cron {
          start = "0 9 * * *"
          end   = "0 17 * * *"
        }
      }
      resources {
        device "nvidia/gpu" {} # resources.device
        numa { # resources.numa
          affinity = "prefer"
        }
      }
    }
  }
}
