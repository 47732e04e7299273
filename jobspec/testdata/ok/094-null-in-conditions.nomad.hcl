variable "pool" {
  type    = string
  default = null
}

job "nulls" {
  datacenters = setunion([]) # its elements have no type
  constraint {
    attribute = "${meta.pool}"
    operator  = var.pool
    value     = var.pool
    version   = null
  }
  group "g" {
    affinity {
      attribute = "${meta.zone}"
      value     = "a"
      regexp    = null
      weight    = null
    }
    task "t" {
      driver = "raw_exec"
      resources {
        device "gpu" {
          constraint {
            attribute = null
            value     = "1"
          }
        }
      }
    }
  }
}
