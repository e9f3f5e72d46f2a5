package bus

import (
	"log/slog"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// A Publisher is how the workers of a pool tell all ingresses of events. It is
// safe for concurrent use.
type Publisher struct {
	conn    *Conn
	address Address
	log     *slog.Logger
}

// NewPublisher returns a publisher for the pool at address.
func NewPublisher(conn *Conn, address Address, log *slog.Logger) *Publisher {
	return &Publisher{conn: conn, address: address, log: log.With("component", "bus")}
}

// Publish tells all ingresses that are connected of e. While NATS is away, what
// the connection's buffer does not hold is lost, and logged.
func (p *Publisher) Publish(e mcp.Event) {
	token := eventToken(e)
	if err := p.conn.Publish(p.address.event(token), e.Notification()); err != nil {
		p.log.Warn("event not published", slog.String("event", token), slog.Any("error", err))
	}
}

// eventToken is the last token of the subject of e. The URI of a resource is not
// part of it: it can be longer than a subject.
func eventToken(e mcp.Event) string {
	switch e.Method {
	case mcp.NotificationToolsListChanged:
		return "tools"
	case mcp.NotificationPromptsListChanged:
		return "prompts"
	case mcp.NotificationResourcesListChanged:
		return "resources"
	case mcp.NotificationTasks:
		return "task"
	}
	return "resource"
}

// event is where a pool's workers publish the events of a token.
func (a Address) event(token string) string { return a.prefix() + ".evt." + token }

// allEvents are the events of all pools of a realm.
func allEvents(realm string) string { return Protocol + "." + realm + ".*.evt.*" }

// parseEventSubject splits the subject of an event of realm.
func parseEventSubject(realm, subject string) (pool, token string, ok bool) {
	rest, ok := strings.CutPrefix(subject, Protocol+"."+realm+".")
	if !ok {
		return "", "", false
	}
	pool, token, ok = strings.Cut(rest, ".evt.")
	return pool, token, ok && isToken(pool) && isToken(token)
}

// onEvent passes a worker's event on.
func (c *Client) onEvent(m *nats.Msg) {
	pool, token, ok := parseEventSubject(c.cfg.Realm, m.Subject)
	if !ok {
		return
	}
	e, ok := mcp.ParseEvent(m.Data)
	if !ok || eventToken(e) != token {
		c.log.Warn("event that cannot be read", slog.String("subject", m.Subject))
		return
	}
	c.cfg.OnEvent(pool, e)
}

// listsChanged says that a pool's workers have come or gone with another
// catalogue than the others.
func (c *Client) listsChanged(pool string) {
	if c.cfg.OnEvent == nil {
		return
	}
	for _, e := range []mcp.Event{mcp.ToolsListChanged(), mcp.PromptsListChanged(), mcp.ResourcesListChanged()} {
		c.cfg.OnEvent(pool, e)
	}
}
