package daemon

// The labels of all containers and networks of taskrun. The first is Nomad's.
const (
	LabelAlloc = "com.hashicorp.nomad.alloc_id"
	LabelRun   = "taskrun.run"
	LabelTask  = "taskrun.task"      // drivers.TaskConfig.ID
	LabelDir   = "taskrun.alloc_dir" // directory of the allocation; of a network that of the run
)
