// Package bus carries MCP requests over NATS, from an ingress to one of a pool
// of workers and back. It knows all that MCPYard knows of NATS, and nothing of
// HTTP or tools. Client is the ingress's end, Consumer the worker's; both are
// joined by an mcp.Handler to what lies beyond.
//
// The wire protocol is described in ARCHITECTURE.md; subject.go, frame.go and
// advert.go are its vocabulary. Three rules explain the rest: a worker never
// queues, so that the ingress knows where there is room; the ingress sends a
// request again only on proof that it was not started; and nothing is kept of a
// request that is over, but for the key of a cancelled one, for half a minute.
package bus
