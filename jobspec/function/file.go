package function

import (
	"errors"
	"path/filepath"

	"github.com/hashicorp/go-cty-funcs/filesystem"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// errNoFiles is the error of a file function where none may be called.
var errNoFiles = errors.New("functions that deal with files cannot be called here")

func fileFunctions(baseDir string) map[string]function.Function {
	return map[string]function.Function{
		"abspath":    filesystem.AbsPathFunc,
		"basename":   filesystem.BasenameFunc,
		"dirname":    filesystem.DirnameFunc,
		"file":       filesystem.MakeFileFunc(baseDir, false),
		"filebase64": filesystem.MakeFileFunc(baseDir, true),
		"fileexists": filesystem.MakeFileExistsFunc(baseDir),
		"fileset":    filesystem.MakeFileSetFunc(baseDir),
		"pathexpand": filesystem.PathExpandFunc,
	}
}

// disabled returns a function with the parameters of f that always fails.
func disabled(f function.Function) function.Function {
	return function.New(&function.Spec{
		Params:   f.Params(),
		VarParam: f.VarParam(),
		Type:     func([]cty.Value) (cty.Type, error) { return cty.NilType, errNoFiles },
		Impl:     func([]cty.Value, cty.Type) (cty.Value, error) { return cty.NilVal, errNoFiles },
	})
}

// readers are the functions whose results depend on files.
var readers = []string{"file", "filebase64", "fileexists", "fileset"}

// noting returns f, which calls note with the path in its first argument.
func noting(f function.Function, baseDir string, note func(path string)) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		VarParam:    f.VarParam(),
		Type:        f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			path := args[0].AsString()
			if expanded, err := filesystem.Pathexpand(args[0]); err == nil {
				path = expanded.AsString()
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(baseDir, path)
			}
			note(path)
			return f.Call(args)
		},
	})
}
