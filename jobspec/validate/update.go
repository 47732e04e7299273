package validate

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// update checks the update block.
// https://developer.hashicorp.com/nomad/docs/job-specification/update
func (g *group) update() {
	u, job := g.tg.Update, orEmpty(g.job.Update)
	if u == nil {
		return
	}
	block := g.merged("update")
	g.isFor(block.whole(g.job.Update != nil), "update is for service and system jobs", "remove the block", api.JobTypeService, api.JobTypeSystem)
	g.choice(block.at("health_check", same(u.HealthCheck, job.HealthCheck)), "health check", deref(u.HealthCheck), "checks", "task_states", "manual")
	maxParallel := block.at("max_parallel", same(u.MaxParallel, job.MaxParallel))
	g.notBelowZero(maxParallel, deref(u.MaxParallel))
	if n, count := deref(u.MaxParallel), deref(g.tg.Count); count > 1 && n > count {
		g.warn(maxParallel, "max_parallel exceeds count",
			fmt.Sprintf("max_parallel is %d and count of group %q is %d: an update replaces all allocations at once", n, g.name, count), "lower max_parallel")
	}
	g.canaries(u, job, block)
	g.updateTimes(u, job, block)
}

func (g *group) canaries(u, job *api.UpdateStrategy, block merged) {
	g.notBelowZero(block.at("canary", same(u.Canary, job.Canary)), deref(u.Canary))
	if deref(u.Canary) == 0 && deref(u.AutoPromote) {
		g.refuse(block.at("auto_promote", same(u.AutoPromote, job.AutoPromote)), "auto_promote needs canaries",
			"canary is 0", "write canary = 1 or more, or remove auto_promote")
	}
}

func (g *group) updateTimes(u, job *api.UpdateStrategy, block merged) {
	healthy, deadline, progress := deref(u.MinHealthyTime), deref(u.HealthyDeadline), deref(u.ProgressDeadline)
	healthyFromJob := same(u.MinHealthyTime, job.MinHealthyTime)
	deadlineFromJob := same(u.HealthyDeadline, job.HealthyDeadline)
	progressFromJob := same(u.ProgressDeadline, job.ProgressDeadline)

	g.positive(block.at("stagger", same(u.Stagger, job.Stagger)), deref(u.Stagger))
	g.positive(block.at("healthy_deadline", deadlineFromJob), deadline)
	g.notNegative(block.at("min_healthy_time", healthyFromJob), u.MinHealthyTime)
	g.notNegative(block.at("progress_deadline", progressFromJob), u.ProgressDeadline)
	if deadline > 0 && healthy >= deadline {
		g.lateHealth(block.either("min_healthy_time", healthyFromJob, "healthy_deadline", deadlineFromJob), healthy, deadline)
	}
	if progress > 0 && deadline >= progress {
		g.refuse(block.either("healthy_deadline", deadlineFromJob, "progress_deadline", progressFromJob),
			"healthy_deadline does not fit progress_deadline",
			fmt.Sprintf("healthy_deadline is %s and progress_deadline is %s", plain(deadline), plain(progress)),
			"write a shorter healthy_deadline, a later progress_deadline, or progress_deadline = 0")
	}
}

func (g *group) migrate() {
	m, job := g.tg.Migrate, orEmpty(g.job.Migrate)
	if m == nil {
		return
	}
	block := g.merged("migrate")
	if !g.isFor(block.whole(g.job.Migrate != nil), "migrate is for service jobs", "remove the block", api.JobTypeService) {
		return
	}
	g.notBelowZero(block.at("max_parallel", same(m.MaxParallel, job.MaxParallel)), deref(m.MaxParallel))
	g.choice(block.at("health_check", same(m.HealthCheck, job.HealthCheck)), "health check", deref(m.HealthCheck), "checks", "task_states")
	healthyFromJob := same(m.MinHealthyTime, job.MinHealthyTime)
	deadlineFromJob := same(m.HealthyDeadline, job.HealthyDeadline)
	g.notNegative(block.at("min_healthy_time", healthyFromJob), m.MinHealthyTime)
	g.notNegative(block.at("healthy_deadline", deadlineFromJob), m.HealthyDeadline)
	if healthy, deadline := deref(m.MinHealthyTime), deref(m.HealthyDeadline); deadline >= 0 && healthy > deadline {
		g.lateHealth(block.either("min_healthy_time", healthyFromJob, "healthy_deadline", deadlineFromJob), healthy, deadline)
	}
}

// lateHealth refuses a min_healthy_time that ends after the healthy_deadline.
func (g *group) lateHealth(at jobspec.Path, healthy, deadline time.Duration) {
	g.refuse(at, "min_healthy_time does not fit healthy_deadline",
		fmt.Sprintf("min_healthy_time is %s and healthy_deadline is %s", plain(healthy), plain(deadline)), "write a shorter min_healthy_time or a later healthy_deadline")
}
