variable "name" {
  type    = string
  default = null
}

variable "pairs" {
  type    = list(object({ a = string }))
  default = []
}

job "nulls" {
  datacenters = var.name
  priority    = var.name
  all_at_once = var.pairs
  group "g" {
    count = null
    meta  = var.name
    task "t" {
      driver = "raw_exec"
      env    = null
    }
  }
}
