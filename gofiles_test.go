package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A goFile is the part of a Go file that the tests of the structure need.
type goFile struct {
	name          string   // with slashes, relative to the module
	pkg           string   // its folder
	test          bool     // a _test.go file
	imports       []string // import paths
	defaultConfig []string // positions where api.DefaultConfig is used
	regexps       []string // positions where a package is initialized with a regular expression
	declares      []string // names of the package
	uses          []string // names that are neither local nor declared in the file
	receivers     []string // the type of each method
}

// goFiles returns all Go files of the module, for every platform.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	files, err := parseModule()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// parseModule parses the files once, for several tests.
var parseModule = sync.OnceValues(func() (files []goFile, err error) {
	fset := token.NewFileSet()
	err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipDir(name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		declares, receivers := declarations(file)
		var uses []string
		for _, id := range file.Unresolved {
			uses = append(uses, id.Name)
		}
		files = append(files, goFile{
			name:          name,
			pkg:           path.Dir(name),
			test:          strings.HasSuffix(name, "_test.go"),
			imports:       importsOf(file),
			defaultConfig: usesOfDefaultConfig(fset, file),
			regexps:       packageRegexps(fset, file),
			declares:      declares,
			uses:          uses,
			receivers:     receivers,
		})
		return nil
	})
	return files, err
})

// skipDir reports whether the go command finds no packages of this module in a
// folder.
func skipDir(name string) bool {
	if name == "." {
		return false
	}
	base := filepath.Base(name)
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	return err == nil || base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

func importsOf(file *ast.File) []string {
	var imports []string
	for _, spec := range file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			imports = append(imports, p)
		}
	}
	return imports
}

// usesOfDefaultConfig finds uses of DefaultConfig of Nomad's api package, under
// any import name.
func usesOfDefaultConfig(fset *token.FileSet, file *ast.File) []string {
	name := ""
	for _, spec := range file.Imports {
		if spec.Path.Value != `"github.com/hashicorp/nomad/api"` {
			continue
		}
		if name = "api"; spec.Name != nil {
			name = spec.Name.Name
		}
	}
	if name == "" {
		return nil
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "DefaultConfig" {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
			found = append(found, fset.Position(sel.Pos()).String())
		}
		return true
	})
	return found
}

// packageRegexps finds regular expressions that are compiled during package
// initialization: outside of functions and function literals, such as that of a
// sync.OnceValue.
func packageRegexps(fset *token.FileSet, file *ast.File) (found []string) {
	for _, decl := range file.Decls {
		vars, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		ast.Inspect(vars, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				_, later := n.(*ast.FuncLit)
				return !later
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "regexp" && strings.Contains(sel.Sel.Name, "Compile") {
				found = append(found, fset.Position(sel.Pos()).String())
			}
			return true
		})
	}
	return found
}

// declarations returns the names that a file declares for its package, and the
// receivers of its methods.
func declarations(file *ast.File) (names, receivers []string) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				names = append(names, decl.Name.Name)
				continue
			}
			of, _, _ := strings.Cut(types.ExprString(decl.Recv.List[0].Type), "[")
			receivers = append(receivers, strings.TrimPrefix(of, "*"))
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						names = append(names, id.Name)
					}
				}
			}
		}
	}
	return names, receivers
}
