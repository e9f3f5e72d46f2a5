package bus

import (
	"encoding/json" // the types of package micro are made for it
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// Workers answer the discovery requests of NATS services, so that `nats micro`
// shows them. They are no micro services otherwise: those run their requests one
// at a time. Spec: NATS ADR-32.

// stats are what a worker counts.
type stats struct {
	started  time.Time
	requests atomic.Int64
	errors   atomic.Int64 // responses with an error object
	busy     atomic.Int64 // time in handlers, nanoseconds
	stuck    atomic.Int64 // handlers that ignored the end of their context
	unsent   atomic.Int64 // replies that could not be published
	again    atomic.Int64 // results that were sent again
}

func (s *stats) count(res *mcp.Response, took time.Duration) {
	s.requests.Add(1)
	s.busy.Add(int64(took))
	if res.Code != 0 {
		s.errors.Add(1)
	}
}

func (c *Consumer) serviceName() string { return "mcpyard-" + c.cfg.Realm + "-" + c.cfg.Pool }

// discoverySubjects are those for everybody, for the pool and for this worker.
func (c *Consumer) discoverySubjects() []string {
	var subjects []string
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		all := "$SRV." + verb
		pool := all + "." + c.serviceName()
		subjects = append(subjects, all, pool, pool+"."+c.id)
	}
	return subjects
}

func (c *Consumer) onDiscovery(m *nats.Msg) {
	verb, _, _ := strings.Cut(strings.TrimPrefix(m.Subject, "$SRV."), ".")
	var answer any
	switch verb {
	case "PING":
		answer = micro.Ping{ServiceIdentity: c.identity(), Type: micro.PingResponseType}
	case "INFO":
		answer = c.info()
	default:
		answer = c.serviceStats()
	}
	body, err := json.Marshal(answer)
	if err == nil {
		err = m.Respond(body)
	}
	if err != nil {
		c.log.Debug("discovery not answered", slog.Any("error", err))
	}
}

func (c *Consumer) identity() micro.ServiceIdentity {
	return micro.ServiceIdentity{
		Name:    c.serviceName(),
		ID:      c.id,
		Version: c.cfg.Version,
		Metadata: map[string]string{
			"protocol": Protocol,
			"realm":    c.cfg.Realm,
			"pool":     c.cfg.Pool,
		},
	}
}

const endpointName = "call"

func (c *Consumer) info() micro.Info {
	return micro.Info{
		ServiceIdentity: c.identity(),
		Type:            micro.InfoResponseType,
		Description:     "MCP " + mcp.Version + " requests of the pool " + c.cfg.Pool,
		Endpoints:       []micro.EndpointInfo{{Name: endpointName, Subject: c.cfg.door(), QueueGroup: doorGroup}},
	}
}

func (c *Consumer) serviceStats() micro.Stats {
	requests := c.stats.requests.Load()
	busy := time.Duration(c.stats.busy.Load())
	return micro.Stats{
		ServiceIdentity: c.identity(),
		Type:            micro.StatsResponseType,
		Started:         c.stats.started.UTC(),
		Endpoints: []*micro.EndpointStats{{
			Name:                  endpointName,
			Subject:               c.cfg.door(),
			QueueGroup:            doorGroup,
			NumRequests:           int(requests),
			NumErrors:             int(c.stats.errors.Load()),
			ProcessingTime:        busy,
			AverageProcessingTime: busy / time.Duration(max(1, requests)),
			Data:                  c.counters(),
		}},
	}
}

// counters are the rest of what is counted, as the endpoint's data.
func (c *Consumer) counters() []byte {
	counters := Counters(c.conn, c.bulk)
	maps.Copy(counters, map[string]int64{
		"slots":         int64(c.cfg.Slots),
		"freeSlots":     int64(c.free()),
		"stuckHandlers": c.stats.stuck.Load(),
		"sentAgain":     c.stats.again.Load(),
		"unsentReplies": c.stats.unsent.Load(),
	})
	body, err := json.Marshal(counters)
	if err != nil {
		return nil
	}
	return body
}
