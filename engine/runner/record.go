package runner

// taskRecord is what is stored of a task.
type taskRecord struct {
	Progress progress `json:"progress"`
}
