package process

// Launch starts a process that belongs to no run: it leads a session of its
// own, and may outlive this program. To learn how it ends is the caller's
// business; see Orphans.
func Launch(spec Spec) (ID, error) {
	pid, err := spec.fork()
	if err != nil {
		return ID{}, err
	}
	return identify(pid), nil
}
