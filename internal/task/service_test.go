package task_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/bus/bustest"
	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/internal/task"
)

// An outage is a storage that does not answer for one of the ways to it.
type outage struct {
	task.Storage

	creates, reads, writes error
}

func (o *outage) Create(ctx context.Context, id string, record []byte, ttl time.Duration) (uint64, error) {
	if o.creates != nil {
		return 0, o.creates
	}
	return o.Storage.Create(ctx, id, record, ttl)
}

func (o *outage) Read(ctx context.Context, id string) ([]byte, uint64, error) {
	if o.reads != nil {
		return nil, 0, o.reads
	}
	return o.Storage.Read(ctx, id)
}

func (o *outage) Write(ctx context.Context, id string, record []byte, revision uint64, live bool, ttl time.Duration) (uint64, error) {
	if o.writes != nil {
		return 0, o.writes
	}
	return o.Storage.Write(ctx, id, record, revision, live, ttl)
}

// A client is told whether it may ask again, when JetStream does not answer.
func TestJetStreamAway(t *testing.T) {
	p := newPool(t)
	storage := p.storage(t)
	id := create(t, p.service(t), work("none"))
	refused := fmt.Errorf("write: %w", jetstream.ErrNoStreamResponse)
	silent := fmt.Errorf("write: %w", context.DeadlineExceeded)
	creation := func(s *task.Service) error {
		_, err := s.Create(t.Context(), work("none"))
		return err
	}
	look := func(s *task.Service) error {
		_, err := s.Get(t.Context(), "ada", id)
		return err
	}
	cancel := func(s *task.Service) error { return s.Cancel(t.Context(), "ada", id) }
	for name, tt := range map[string]struct {
		outage outage
		ask    func(*task.Service) error
		code   int
	}{
		"creation that nobody took":   {outage{creates: refused}, creation, mcp.CodeOverloaded},
		"creation without an answer":  {outage{creates: silent}, creation, mcp.CodeOutcomeUnknown},
		"look that nobody took":       {outage{reads: fmt.Errorf("read: %w", nats.ErrJetStreamNotEnabled)}, look, mcp.CodeOverloaded},
		"look without an answer":      {outage{reads: silent}, look, mcp.CodeOverloaded},
		"cancel without its record":   {outage{reads: silent}, cancel, mcp.CodeOverloaded},
		"cancel that was not written": {outage{writes: silent}, cancel, mcp.CodeOverloaded},
	} {
		tt.outage.Storage = storage
		err := tt.ask(task.NewService(&tt.outage, p.config(), bustest.Log(t)))
		require.Error(t, err, name)
		assert.Equal(t, tt.code, code(t, err), name)
	}
}
