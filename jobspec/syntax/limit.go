package syntax

import "github.com/hashicorp/hcl/v2"

func checkNative(text []byte, name string, at hcl.Pos) hcl.Diagnostics   { return nil }
func checkTemplate(text []byte, name string, at hcl.Pos) hcl.Diagnostics { return nil }
func checkJSON(text []byte, name string) hcl.Diagnostics                 { return nil }
