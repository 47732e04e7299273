package main

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	maxMethods = 40 // of a type: one with more wants to be two
	smallRoom  = 10 // files of a package that one sees at a glance
)

// In a package with more than a few files, the files stand above each other as
// packages do: none uses a name of a file that uses one of its own.
func TestFilesFormNoCircle(t *testing.T) {
	t.Parallel()
	packages := map[string][]goFile{}
	for _, f := range goFiles(t) {
		if !f.test {
			packages[f.pkg] = append(packages[f.pkg], f)
		}
	}
	for pkg, files := range packages {
		if circle := circleOf(files); len(files) > smallRoom && len(circle) > 0 {
			t.Errorf("%s: these files form a circle: %v", pkg, circle)
		}
	}
}

// The folders of a folder stand above each other, too, with all that is below
// each of them.
func TestFoldersFormNoCircle(t *testing.T) {
	t.Parallel()
	below := map[string]map[string]goFile{} // by folder, and by the name of what is directly below it
	for _, f := range goFiles(t) {
		for _, imported := range f.imports {
			pkg, ours := strings.CutPrefix(imported, "taskrun/")
			if !ours || f.test {
				continue
			}
			folder, from, to := fork(f.pkg, pkg)
			if below[folder] == nil {
				below[folder] = map[string]goFile{}
			}
			for _, name := range []string{from, to} {
				if _, known := below[folder][name]; !known {
					below[folder][name] = goFile{name: name, declares: []string{name}}
				}
			}
			room := below[folder][from]
			room.uses = append(room.uses, to)
			below[folder][from] = room
		}
	}
	if len(below) < 10 {
		t.Fatalf("found only %d folders", len(below))
	}
	delete(below, "") // engine/leaf is below hooks and drivers, and engine above them
	for folder, rooms := range below {
		if circle := circleOf(slices.Collect(maps.Values(rooms))); len(circle) > 0 {
			t.Errorf("%s: these folders form a circle: %v", folder, circle)
		}
	}
}

// fork returns the folder that two packages have in common, and which part of it
// each of them is in: "" for the package of that folder itself.
func fork(a, b string) (folder, inA, inB string) {
	for {
		headA, restA, _ := strings.Cut(a, "/")
		headB, restB, _ := strings.Cut(b, "/")
		if headA != headB || headA == "" {
			return folder, headA, headB
		}
		folder, a, b = path.Join(folder, headA), restA, restB
	}
}

func TestCircleOfFilesIsFound(t *testing.T) {
	t.Parallel()
	a := goFile{name: "a", declares: []string{"A"}, uses: []string{"B", "len"}}
	b := goFile{name: "b", declares: []string{"B"}, uses: []string{"C"}}
	c := goFile{name: "c", declares: []string{"C"}}
	if got := circleOf([]goFile{a, b, c}); len(got) > 0 {
		t.Errorf("found a circle of %v", got)
	}
	c.uses = []string{"B"}
	if got := circleOf([]goFile{a, b, c}); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("found a circle of %v, want b and c", got)
	}
}

// circleOf returns the files of a package that form a circle, or are between two
// circles. It sees the names of the package, but no methods.
func circleOf(files []goFile) []string {
	home := map[string]string{}
	for _, f := range files {
		for _, name := range f.declares {
			home[name] = f.name
		}
	}
	below := map[string]map[string]bool{}
	for _, f := range files {
		below[f.name] = map[string]bool{}
		for _, name := range f.uses {
			if to := home[name]; to != "" && to != f.name {
				below[f.name][to] = true
			}
		}
	}
	for removed := true; removed; {
		used := map[string]bool{}
		for _, all := range below {
			maps.Copy(used, all)
		}
		removed = false
		for name, all := range below {
			if len(all) > 0 && used[name] {
				continue
			}
			delete(below, name)
			for _, all := range below {
				delete(all, name)
			}
			removed = true
		}
	}
	return slices.Sorted(maps.Keys(below))
}

func TestNoTypeHasTooManyMethods(t *testing.T) {
	t.Parallel()
	methods := map[string]int{}
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		for _, receiver := range f.receivers {
			methods[f.pkg+"."+receiver]++
		}
	}
	if len(methods) == 0 {
		t.Fatal("found no method")
	}
	for of, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods, more than %d", of, n, maxMethods)
		}
	}
}
