package bus

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// pullFor is how long the server holds a request for tasks.
	pullFor = 5 * time.Second
	// pullLost is when a request for tasks that nothing was heard of is taken for
	// lost.
	pullLost = pullFor + 2*time.Second
	// pullBackoff is how long to wait when there is nobody to pull from.
	pullBackoff = 500 * time.Millisecond
)

// Pull calls receive with the tasks of the queue, as long as there is room, until
// ctx ends. It asks for exactly as many as there is room for, since what is
// fetched and waits would be kept from others. It returns when nothing more will
// come.
//
// room is how many tasks more the worker could run, and freed has a value when
// there is more of it. receive takes room before it returns, and does not wait;
// ack is for Ack, Nak and Progress.
func (t *Tasks) Pull(ctx context.Context, room func() int, freed <-chan struct{}, receive func(body []byte, ack string)) error {
	inbox := t.conn.NewInbox()
	messages := make(chan *nats.Msg, inbound)
	sub, err := t.conn.ChanSubscribe(inbox, messages)
	if err != nil {
		return fmt.Errorf("pull tasks: %w", err)
	}
	p := puller{tasks: t, room: room, receive: receive, inbox: inbox, heard: time.Now()}
	tick := time.NewTicker(pullBackoff)
	defer tick.Stop()
	for ctx.Err() == nil {
		p.ask(time.Now())
		select {
		case <-ctx.Done():
		case <-t.conn.closed:
			return fmt.Errorf("pull tasks: %w", t.conn.closedError())
		case m := <-messages:
			p.take(ctx, m)
		case <-freed:
		case <-tick.C:
		}
	}
	return p.stop(sub, messages)
}

// A puller counts what it has asked for. It is used by one goroutine.
type puller struct {
	tasks   *Tasks
	room    func() int
	receive func(body []byte, ack string)
	inbox   string
	credit  int       // tasks that have been asked for and not come
	heard   time.Time // when the server last said something
	resume  time.Time // when to ask again
}

// ask asks for as many tasks as there is room for.
func (p *puller) ask(now time.Time) {
	if p.credit > 0 && now.Sub(p.heard) > pullLost {
		p.credit = 0
	}
	wanted := p.room() - p.credit
	if wanted <= 0 || now.Before(p.resume) {
		return
	}
	subject := "$JS.API.CONSUMER.MSG.NEXT." + p.tasks.queue() + "." + taskConsumer
	body := fmt.Appendf(nil, `{"batch":%d,"expires":%d}`, wanted, pullFor.Nanoseconds())
	if err := p.tasks.conn.PublishRequest(subject, p.inbox, body); err != nil {
		p.resume = now.Add(pullBackoff)
		return
	}
	if p.credit == 0 {
		p.heard = now
	}
	p.credit += wanted
}

// take takes a task, or what the server says instead.
func (p *puller) take(ctx context.Context, m *nats.Msg) {
	p.heard = time.Now()
	status := m.Header.Get("Status")
	if status == "" || len(m.Data) > 0 {
		p.credit = max(0, p.credit-1)
		p.receive(m.Data, m.Reply)
		return
	}
	unserved, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	if err != nil {
		unserved = p.credit
	}
	p.credit = max(0, p.credit-unserved)
	if status == "408" { // its time is over
		return
	}
	p.resume = p.heard.Add(pullBackoff)
	p.tasks.log.DebugContext(ctx, "tasks cannot be pulled", slog.String("status", status),
		slog.String("description", m.Header.Get("Description")))
	if status == "503" || m.Header.Get("Description") == "Consumer Deleted" {
		p.restore(ctx)
	}
}

// restore creates the consumer again, should it have been deleted.
func (p *puller) restore(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := p.tasks.openConsumer(ctx); err != nil && ctx.Err() == nil {
		p.tasks.log.WarnContext(ctx, "the consumer of tasks is gone", slog.Any("error", err))
	}
}

// stop ends the subscription, and gives back what came meanwhile.
func (p *puller) stop(sub *nats.Subscription, messages <-chan *nats.Msg) error {
	err := sub.Drain()
	if up, _ := p.tasks.conn.Up(); up && err == nil {
		err = p.tasks.conn.FlushTimeout(goodbyeTimeout)
	}
	for {
		select {
		case m := <-messages:
			if m.Reply != "" && m.Header.Get("Status") == "" {
				p.tasks.Nak(m.Reply, 0)
			}
			continue
		default:
		}
		if err != nil {
			return fmt.Errorf("stop pulling tasks: %w", err)
		}
		return nil
	}
}
