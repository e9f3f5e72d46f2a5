package subscription_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/subscription"
)

// A taskPool is workers with one task, t, whose status message tells how often it
// has changed. Only ada sees it.
type taskPool struct{ changes atomic.Int32 }

func (p *taskPool) Handle(ctx context.Context, req *mcp.Request, notify mcp.NotifyFunc) *mcp.Response {
	id, _ := req.Target()
	switch {
	case req.Method != mcp.MethodTasksGet:
		return honouring(ctx, req, notify)
	case req.ValidateMeta() != nil || req.ValidateVersion() != nil || !req.Meta.Capabilities.Tasks:
		return mcp.ErrorResponse(req.ID, mcp.MissingTasks())
	case id != "t" || req.Principal != "ada" || req.Pool != pool:
		return mcp.ErrorResponse(req.ID, mcp.TaskNotFound())
	}
	return mcp.ResultResponse(req.ID, fmt.Appendf(nil, `{"resultType":"complete","_meta":{},%s}`, members(p.changes.Load())))
}

func members(changes int32) string {
	return fmt.Sprintf(`"taskId":"t","status":"working","statusMessage":"%d",`+
		`"createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00.5Z","ttlMs":1000`, changes)
}

func state(changes int32) string {
	return `{"jsonrpc":"2.0","method":"notifications/tasks","params":{` + tag(`1`) + `,` + members(changes) + `}}`
}

// Who listens for a task is told how it is now, at first and after each change,
// and nothing of the tasks of others.
//
// Spec: Tasks extension, Task Status Notifications.
func TestTasks(t *testing.T) {
	h := newHub(subscription.Config{})
	p := &taskPool{}
	const filter = `{"taskIds":["t","u"]}`
	req := request(t, `1`, filter)
	req.Principal = "ada"
	l := listen(t, h.Middleware(p), req)
	assert.Equal(t, acknowledged(`1`, filter), receive(t, l.messages))
	assert.Equal(t, state(0), receive(t, l.messages), "it may have changed before anybody listened")
	p.changes.Store(1)
	h.Publish(pool, mcp.TaskChanged("u"))
	h.Publish(pool, mcp.TaskChanged("v"))
	h.Publish("elsewhere", mcp.TaskChanged("t"))
	h.Publish(pool, mcp.TaskChanged("t"))
	assert.Equal(t, state(1), receive(t, l.messages))
	p.changes.Store(2)
	h.PublishAll() // the connection was lost, and maybe events
	assert.Equal(t, state(2), receive(t, l.messages))
	assert.Empty(t, l.end(t, h))

	other := request(t, `1`, filter) // which the pool would not honour
	l = listen(t, newHub(subscription.Config{}).Middleware(p), other)
	assert.Equal(t, acknowledged(`1`, filter), receive(t, l.messages))
	l.gone()
	receive(t, l.response)
	assert.Empty(t, l.messages)
}
