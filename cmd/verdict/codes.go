package verdict

// Exit codes. A run with --exit-code-from, and commands that run another command,
// return the exit code of the task or the command.
const (
	OK        = 0
	Failed    = 1   // a task or an allocation failed
	Usage     = 2   // the job file or the command line is wrong; nothing was started
	Running   = 3   // the job or the agent is running already; nothing was started
	Timeout   = 124 // --timeout passed
	Internal  = 125 // taskrun itself failed
	Hangup    = 129 // stopped by SIGHUP
	Interrupt = 130 // stopped by SIGINT
	Pipe      = 141 // stdout was closed
	Terminate = 143 // stopped by SIGTERM
)
