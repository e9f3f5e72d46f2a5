package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

// A taskWord tells or asks a worker something about a task that it may run.
type taskWord struct {
	Word string `json:"word"` // "held" or "cancel"
	ID   string `json:"task"`
	Ack  string `json:"ack,omitzero"`
}

// taskControl is where a worker is told of tasks that it runs.
func (a Address) taskControl(worker string) string { return a.worker(worker) + ".task" }

// askTimeout bounds the wait for another worker's answer.
const askTimeout = time.Second

// Holds asks a worker whether it runs a task; if so, the worker answers from now
// on for the message at ack. An error says that the worker did not answer.
func (t *Tasks) Holds(ctx context.Context, worker, id, ack string) (bool, error) {
	return t.word(ctx, worker, taskWord{Word: "held", ID: id, Ack: ack})
}

// TellCancelled tells a worker that a task which it runs has been cancelled. An
// error says that it did not answer.
func (t *Tasks) TellCancelled(ctx context.Context, worker, id string) error {
	_, err := t.word(ctx, worker, taskWord{Word: "cancel", ID: id})
	return err
}

func (t *Tasks) word(ctx context.Context, worker string, w taskWord) (bool, error) {
	if !isToken(worker) {
		return false, nil
	}
	body, err := json.Marshal(w)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	m, err := t.conn.RequestWithContext(ctx, t.cfg.taskControl(worker), body)
	if err != nil {
		return false, fmt.Errorf("ask worker %s: %w", worker, err)
	}
	return string(m.Data) == "yes", nil
}

// Answer answers other workers until stop is called. holds tells whether the
// worker runs the task, and then has it answer for the message at ack; cancelled
// takes that a task has been cancelled. Neither waits.
func (t *Tasks) Answer(worker string, holds func(id, ack string) bool, cancelled func(id string) bool) (stop func(), err error) {
	sub, err := t.conn.Subscribe(t.cfg.taskControl(worker), func(m *nats.Msg) {
		var w taskWord
		if json.Unmarshal(m.Data, &w) != nil {
			return
		}
		answer := "no"
		if w.Word == "held" && holds(w.ID, w.Ack) || w.Word == "cancel" && cancelled(w.ID) {
			answer = "yes"
		}
		if err := m.Respond([]byte(answer)); err != nil {
			t.log.Warn("another worker is not answered", slog.Any("error", err))
		}
	})
	if err == nil {
		err = t.conn.FlushTimeout(subscribeTimeout)
	}
	if err != nil {
		return nil, fmt.Errorf("answer other workers: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil
}
