package validate

import (
	"fmt"

	"github.com/hashicorp/nomad/api"
)

func (g *group) migrate() {
	m, job := g.tg.Migrate, orEmpty(g.job.Migrate)
	if m == nil {
		return
	}
	block := g.merged("migrate")
	if !g.mayBe(api.JobTypeService) {
		at := block.group
		if g.job.Migrate != nil {
			at = block.job
		}
		g.refuse(at, "migrate is for service jobs", fmt.Sprintf("the job's type is %q", g.kind), "remove the block")
		return
	}
	if n := deref(m.MaxParallel); n < 0 {
		g.refuse(block.at("max_parallel", same(m.MaxParallel, job.MaxParallel)), "max_parallel is negative", fmt.Sprintf("it is %d", n), "write 0 or more")
	}
	g.choice(block.at("health_check", same(m.HealthCheck, job.HealthCheck)), "health check", deref(m.HealthCheck), "checks", "task_states")
	healthyFromJob := same(m.MinHealthyTime, job.MinHealthyTime)
	deadlineFromJob := same(m.HealthyDeadline, job.HealthyDeadline)
	g.notNegative(block.at("min_healthy_time", healthyFromJob), "min_healthy_time", m.MinHealthyTime)
	g.notNegative(block.at("healthy_deadline", deadlineFromJob), "healthy_deadline", m.HealthyDeadline)
	if healthy, deadline := deref(m.MinHealthyTime), deref(m.HealthyDeadline); deadline >= 0 && healthy > deadline {
		g.refuse(block.either("min_healthy_time", healthyFromJob, "healthy_deadline", deadlineFromJob),
			"min_healthy_time does not fit healthy_deadline",
			fmt.Sprintf("min_healthy_time is %s and healthy_deadline is %s", plain(healthy), plain(deadline)), "write a shorter min_healthy_time or a later healthy_deadline")
	}
}
