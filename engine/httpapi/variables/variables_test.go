package variables

import (
	"net/http/httptest"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/variable"
)

// Users see the lock of a variable. Tasks do not: its ID is the right to change
// the variable.
func TestTasksSeeNoLocks(t *testing.T) {
	t.Parallel()
	var store variable.Store
	defer store.Close()
	lock, err := variable.NewLock(nil, "1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Acquire(&api.Variable{Namespace: "default", Path: "a", Lock: lock}); err != nil {
		t.Fatal(err)
	}
	h := New(&store, func(fold.Topic) uint64 { return 1 })
	for what, mayRead := range map[string]func(namespace, path string) bool{
		"a user": nil, "a task": func(string, string) bool { return true },
	} {
		r := rest.NewAnswers().Request(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), "a")
		r.MayRead = mayRead
		one, err := h.Get(r)
		if err != nil {
			t.Fatal(err)
		}
		all, err := h.List(r)
		if err != nil {
			t.Fatal(err)
		}
		v, m := one.(*api.Variable), all.([]entry)[0]
		if shown := mayRead == nil; (v.Lock != nil) != shown || (m.Lock != nil) != shown {
			t.Errorf("%s sees %+v and %+v", what, v.Lock, m.Lock)
		}
	}
}
