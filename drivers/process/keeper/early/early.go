// Package early lets the keeper of a run in the foreground wait before the rest
// of the program is initialized. A keeper whose run cleans up after itself, as
// nearly all do, then costs no more than an empty program.
//
// Go initializes packages in the order of their import paths, as soon as all
// that they import is initialized. This one imports nothing but syscall, so it
// comes before package time, and so before nearly everything else. Where it
// cannot do its work (on another system than Linux, in an old kernel) it does
// nothing, and the keeper waits when the program is initialized.
package early

// The variable by which a program knows that it is a keeper, and its value for
// the keeper of a run in the foreground.
const (
	RoleVar   = "TASKRUN_KEEPER"
	WatchRole = "watch"
)

// The descriptors of such a keeper: the pipe, the record, and the claim of the
// mark, which only has to be open.
const (
	PipeFD = iota + 3
	RecordFD
	ClaimFD
)
