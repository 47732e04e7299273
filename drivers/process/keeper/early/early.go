// Package early lets the keeper of a run in the foreground wait before the rest
// of the program is initialized. If the run cleans up itself, as nearly all
// runs do, its keeper costs no more than an empty program.
//
// Go initializes packages in the order of their import paths, as soon as their
// imports are initialized. This one imports only syscall, so it comes before
// package time, and so before nearly everything else. If it cannot do its work
// (not on Linux, or an old kernel) it does nothing, and the keeper waits after
// the initialization.
package early

// The variable that tells a program that it is a keeper, and its value for the
// keeper of a run in the foreground.
const (
	RoleVar   = "TASKRUN_KEEPER"
	WatchRole = "watch"
)

// Descriptors of such a keeper: the pipe, the record, and two that only have to
// stay open: the claim of the mark, and a lock of the program.
const (
	PipeFD = iota + 3
	RecordFD
	ClaimFD
	LockFD
)
