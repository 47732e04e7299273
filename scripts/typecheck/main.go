// Command typecheck finds what does not compile on other platforms, in the module
// and its tests:
//
//	go run ./scripts/typecheck darwin/arm64 linux/arm64
//
// It checks the types of the sources, which takes a tenth of the time that the
// compiler needs for all packages. It exits with 1 if there are errors.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: typecheck GOOS/GOARCH...")
		os.Exit(2)
	}
	code := 0
	for _, platform := range os.Args[1:] {
		for _, err := range check(".", platform) {
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
			code = 1
		}
	}
	os.Exit(code)
}

// check returns the errors in the packages of a module on a platform, GOOS/GOARCH.
func check(dir, platform string) (errs []error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return []error{errors.New("a platform is GOOS/GOARCH, such as darwin/arm64")}
	}
	// With NeedDeps the types of dependencies come from their sources.
	list, err := packages.Load(&packages.Config{
		Mode:  packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir:   dir,
		Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
		Tests: true,
	}, "./...")
	switch {
	case err != nil:
		return []error{err}
	case len(list) == 0:
		return []error{errors.New("there are no packages")}
	}
	seen := map[string]bool{} // a package is there twice if it has tests
	packages.Visit(list, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			if !seen[e.Error()] {
				seen[e.Error()] = true
				errs = append(errs, e)
			}
		}
	})
	return errs
}
