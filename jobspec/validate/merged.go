package validate

import "taskrun/jobspec"

// merged is a block of a group into which Canonicalize merged the job's block of
// that name. A fault belongs where its value was written: when the job has the
// same value, that is the job's block.
type merged struct{ job, group jobspec.Path }

func (g *group) merged(block string) merged {
	return merged{job: jobspec.Root.Attr(block), group: g.at.Attr(block)}
}

// at returns the path of an attribute; fromJob tells that the job has its value.
func (m merged) at(attr string, fromJob bool) jobspec.Path {
	if fromJob {
		return m.job.Attr(attr)
	}
	return m.group.Attr(attr)
}

// either returns the path of the first of two attributes that disagree, rather
// than of the second if only that one was written in the group.
func (m merged) either(first string, firstFromJob bool, second string, secondFromJob bool) jobspec.Path {
	if firstFromJob && !secondFromJob {
		return m.at(second, false)
	}
	return m.at(first, firstFromJob)
}
