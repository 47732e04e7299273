package recording

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference is a value that differs between two recordings. A missing value is
// empty.
type Difference struct {
	Path           string // such as "allocs/web.app[0]#0/tasks/server/events"
	Nomad, Taskrun string
}

// String shows both values; the lines of long ones are shown side by side.
func (d Difference) String() string {
	if !strings.Contains(d.Nomad+d.Taskrun, "\n") {
		return fmt.Sprintf("%s: Nomad %q, taskrun %q", d.Path, d.Nomad, d.Taskrun)
	}
	nomad, taskrun := strings.Split(d.Nomad, "\n"), strings.Split(d.Taskrun, "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", d.Path)
	for i := range max(len(nomad), len(taskrun)) {
		n, t := line(nomad, i), line(taskrun, i)
		if n == t {
			fmt.Fprintf(&b, "\n    both     %s", n)
			continue
		}
		fmt.Fprintf(&b, "\n  ! nomad    %s\n  ! taskrun  %s", n, t)
	}
	return b.String()
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// Compare returns the differences between the recordings of Nomad and taskrun,
// by path. IDs, ports, times and directories do not count. Owners of files
// count only if owners is set, because only root can change the owner of a
// file.
func Compare(nomad, taskrun Recording, owners bool) []Difference {
	n, t := flatten(nomad, owners), flatten(taskrun, owners)
	both := maps.Clone(n)
	maps.Copy(both, t)
	var list []Difference
	for _, path := range slices.Sorted(maps.Keys(both)) {
		if n[path] != t[path] {
			list = append(list, Difference{path, n[path], t[path]})
		}
	}
	return list
}

// flatten maps every value of a recording by its path.
func flatten(r Recording, owners bool) map[string]string {
	flat := map[string]string{"job_status": r.JobStatus, "registered": normalOutput(r.Registered)}
	for i, c := range r.Commands {
		path := fmt.Sprintf("cli/%d/%s", i, c.Line)
		flat[path] = normalOutput(fmt.Sprintf("exit code %d\nstdout: %s\nstderr: %s", c.Code, c.Stdout, c.Stderr))
	}
	for i, list := range r.AllocLists {
		flat[fmt.Sprintf("alloc_lists/%d", i)] = lines(slices.SortedFunc(slices.Values(list), func(a, b AllocLine) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Status, b.Status))
		}))
	}
	for i, list := range r.Deployments {
		flat[fmt.Sprintf("deployments/%d", i)] = lines(list)
	}
	same := map[string]int{}
	for _, a := range slices.SortedStableFunc(slices.Values(r.Allocs), byStart) {
		flattenAlloc(flat, fmt.Sprintf("allocs/%s#%d/", a.Name, same[a.Name]), a, owners)
		same[a.Name]++
	}
	return flat
}

// byStart compares allocations by name, then by when they were created.
func byStart(a, b Alloc) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Created, b.Created))
}

func lines[T any](list []T) string {
	var b strings.Builder
	for _, v := range list {
		fmt.Fprintf(&b, "%+v\n", v)
	}
	return b.String()
}

func flattenAlloc(flat map[string]string, path string, a Alloc, owners bool) {
	flat[path+"status"] = a.Status + ": " + a.Description
	flat[path+"previous"] = fmt.Sprint(a.Previous)
	if a.Desired != nil {
		flat[path+"desired"] = *a.Desired
	}
	if a.Version != nil {
		flat[path+"version"] = fmt.Sprint(*a.Version)
	}
	if a.Healthy != nil {
		flat[path+"healthy"] = fmt.Sprint(*a.Healthy)
	}
	if a.Trace != nil {
		flat[path+"trace"] = normalTrace(*a.Trace)
	}
	for name, t := range a.Tasks {
		task := path + "tasks/" + name + "/"
		flat[task+"state"] = fmt.Sprintf("%s, failed %v, %d restarts", t.State, t.Failed, t.Restarts)
		flat[task+"events"] = strings.Join(Lines(t.Events), "\n")
		flat[task+"stdout"], flat[task+"stderr"] = normalOutput(t.Stdout), normalOutput(t.Stderr)
	}
	for _, f := range a.Files {
		// Outputs are compared separately, and contain directories.
		if f.Mode[0] != '-' || strings.HasPrefix(f.Path, "alloc/logs/") || strings.HasSuffix(f.Path, "executor.out") {
			f.Size = 0
		}
		flat[path+"files/"+f.Path] = fmt.Sprintf("%s size %d", f.Mode, f.Size)
		if owners {
			flat[path+"owners/"+f.Path] = fmt.Sprintf("%d:%d", f.UID, f.GID)
		}
	}
}

// ring is how many events of a task Nomad keeps.
const ring = 10

// Lines formats the latest events of a task for the comparison, one per line.
func Lines(events []Event) []string {
	var list []string
	for _, e := range events[max(0, len(events)-ring):] {
		e = normalEvent(e)
		text := e.Type + " | " + e.Message
		for _, key := range slices.Sorted(maps.Keys(e.Details)) {
			text += " | " + key + "=" + e.Details[key]
		}
		list = append(list, text)
	}
	return list
}
