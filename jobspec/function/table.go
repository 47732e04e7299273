// Package function contains the functions that expressions in a job file may
// call: Nomad's own set of 83, with Nomad's names.
//
// See https://developer.hashicorp.com/nomad/docs/reference/hcl2/functions.
package function

import (
	"crypto/fips140"
	"slices"

	"github.com/hashicorp/go-cty-funcs/cidr"
	"github.com/hashicorp/go-cty-funcs/crypto"
	"github.com/hashicorp/go-cty-funcs/encoding"
	"github.com/hashicorp/go-cty-funcs/uuid"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Table returns the functions by name. File functions resolve relative paths
// against baseDir.
func Table(baseDir string) map[string]function.Function {
	return TableNoting(baseDir, func(string) {})
}

// TableNoting is like Table, and calls note with the path of each file or
// directory that a function looks at, whether it exists or not.
func TableNoting(baseDir string, note func(path string)) map[string]function.Function {
	table := pure()
	for name, f := range fileFunctions(baseDir) {
		if slices.Contains(readers, name) {
			f = noting(f, baseDir, note)
		}
		table[name] = f
	}
	return table
}

// TableWithoutFiles returns the functions by name for the conditions of
// variables. Those that access files always fail.
func TableWithoutFiles() map[string]function.Function {
	table := pure()
	for name, f := range fileFunctions("") {
		table[name] = disabled(f)
	}
	return table
}

// pure returns the functions that do not access files.
func pure() map[string]function.Function {
	table := map[string]function.Function{
		// Numbers.
		"abs":      stdlib.AbsoluteFunc,
		"ceil":     stdlib.CeilFunc,
		"floor":    stdlib.FloorFunc,
		"log":      stdlib.LogFunc,
		"max":      stdlib.MaxFunc,
		"min":      stdlib.MinFunc,
		"parseint": stdlib.ParseIntFunc,
		"pow":      stdlib.PowFunc,
		"signum":   stdlib.SignumFunc,

		// Strings.
		"chomp":         stdlib.ChompFunc,
		"format":        limited(stdlib.FormatFunc, formatLimit),
		"formatlist":    limited(stdlib.FormatListFunc, formatListLimit),
		"indent":        limited(stdlib.IndentFunc, indentLimit),
		"join":          limited(stdlib.JoinFunc, joinLimit),
		"lower":         stdlib.LowerFunc,
		"regex_replace": limited(stdlib.RegexReplaceFunc, regexReplaceLimit),
		"replace":       limited(stdlib.ReplaceFunc, replaceLimit),
		"reverse":       stdlib.ReverseFunc, // of a string, in spite of its name
		"split":         stdlib.SplitFunc,
		"strlen":        stdlib.StrlenFunc,
		"strrev":        stdlib.ReverseFunc,
		"substr":        stdlib.SubstrFunc,
		"title":         stdlib.TitleFunc,
		"trim":          stdlib.TrimFunc,
		"trimprefix":    stdlib.TrimPrefixFunc,
		"trimspace":     stdlib.TrimSpaceFunc,
		"trimsuffix":    stdlib.TrimSuffixFunc,
		"upper":         stdlib.UpperFunc,

		// Collections.
		"chunklist":       stdlib.ChunklistFunc,
		"coalesce":        stdlib.CoalesceFunc,
		"coalescelist":    stdlib.CoalesceListFunc,
		"compact":         stdlib.CompactFunc,
		"concat":          stdlib.ConcatFunc,
		"contains":        stdlib.ContainsFunc,
		"distinct":        limited(stdlib.DistinctFunc, distinctLimit),
		"element":         stdlib.ElementFunc,
		"flatten":         stdlib.FlattenFunc,
		"index":           stdlib.IndexFunc,
		"keys":            stdlib.KeysFunc,
		"length":          stdlib.LengthFunc,
		"lookup":          stdlib.LookupFunc,
		"merge":           stdlib.MergeFunc,
		"range":           stdlib.RangeFunc,
		"setintersection": stdlib.SetIntersectionFunc,
		"setproduct":      limited(stdlib.SetProductFunc, setProductLimit),
		"setunion":        stdlib.SetUnionFunc,
		"slice":           stdlib.SliceFunc,
		"sort":            stdlib.SortFunc,
		"values":          stdlib.ValuesFunc,
		"zipmap":          stdlib.ZipmapFunc,

		// Dates.
		"formatdate": stdlib.FormatDateFunc,
		"timeadd":    stdlib.TimeAddFunc,

		// Encodings.
		"base64decode": encoding.Base64DecodeFunc,
		"base64encode": encoding.Base64EncodeFunc,
		"csvdecode":    stdlib.CSVDecodeFunc,
		"jsondecode":   limited(stdlib.JSONDecodeFunc, nestingLimit),
		"jsonencode":   limited(stdlib.JSONEncodeFunc, sizeLimit),
		"urlencode":    encoding.URLEncodeFunc,
		"yamldecode":   limited(ctyyaml.YAMLDecodeFunc, nestingLimit),
		"yamlencode":   limited(ctyyaml.YAMLEncodeFunc, sizeLimit),

		// Hashes and identifiers.
		"bcrypt":     limited(crypto.BcryptFunc, bcryptLimit),
		"rsadecrypt": crypto.RsaDecryptFunc,
		"sha256":     crypto.Sha256Func,
		"sha512":     crypto.Sha512Func,
		"uuidv4":     uuid.V4Func,
		"uuidv5":     uuid.V5Func,

		// Networks.
		"cidrhost":    cidr.HostFunc,
		"cidrnetmask": cidr.NetmaskFunc,
		"cidrsubnet":  cidr.SubnetFunc,
		"cidrsubnets": cidr.SubnetsFunc,

		// Types and flow.
		"can":     tryfunc.CanFunc,
		"convert": typeexpr.ConvertFunc,
		"try":     tryfunc.TryFunc,
	}
	if !fips140.Enabled() {
		table["md5"] = crypto.Md5Func
		table["sha1"] = crypto.Sha1Func
	}
	return table
}
