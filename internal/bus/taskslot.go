package bus

import "github.com/nats-io/nuid"

// DefaultSlots is how many requests run at once if nothing else is said.
const DefaultSlots = 64

// NewID returns a name for an incarnation of a worker.
func NewID() string { return nuid.Next() }

// OccupyForTask takes a slot for a task, also if there is none: how many tasks
// run at once is bounded by who runs them, so that for as long as requests occupy
// the slots of tasks, there are a few more. New requests wait until that is over.
func (c *Consumer) OccupyForTask() { c.inFlight.Add(1) }

// VacateTask gives it back.
func (c *Consumer) VacateTask() { c.vacate() }
