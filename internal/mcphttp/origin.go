package mcphttp

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// A guard refuses the requests that a web page can make a browser send to a
// server that it should not reach: across origins, or by binding its own name
// to the address of that server.
//
// Spec: MCP 2026-07-28, Streamable HTTP, Security & Endpoint.
type guard struct {
	hosts, origins allowList
}

func newGuard(cfg Config) guard {
	return guard{hosts: newAllowList(cfg.AllowedHosts), origins: newAllowList(cfg.AllowedOrigins)}
}

func (g *guard) check(r *http.Request) *refusal {
	if !g.allowsHost(r.Host) {
		return refuse(http.StatusForbidden, "this Host is not allowed; the flag -allowed-hosts adds hosts")
	}
	if origins := r.Header["Origin"]; len(origins) > 0 && (len(origins) > 1 || !g.allowsOrigin(origins[0])) {
		return refuse(http.StatusForbidden, "this Origin is not allowed; the flag -allowed-origins adds origins")
	}
	return nil
}

func (g *guard) allowsHost(hostport string) bool {
	if g.hosts.has(hostport) {
		return true
	}
	host, ok := splitPort(hostport)
	return ok && (g.hosts.has(host) || isLoopback(host))
}

func (g *guard) allowsOrigin(origin string) bool {
	if g.origins.has(origin) {
		return true
	}
	scheme, hostport, _ := strings.Cut(origin, "://")
	host, ok := splitPort(hostport)
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) && isLoopback(host)
}

// splitPort returns what is in front of the port, if there is one. An IPv6
// address keeps its brackets, by which it differs from a host and a port.
func splitPort(hostport string) (host string, ok bool) {
	colon := strings.LastIndexByte(hostport, ':')
	if colon < 0 || strings.HasSuffix(hostport, "]") {
		return hostport, true
	}
	return hostport[:colon], strings.Trim(hostport[colon+1:], "0123456789") == ""
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if v6, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(v6, "]")
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// An allowList is a set of names in which case does not matter.
type allowList struct {
	all   bool
	names []string
}

func newAllowList(names []string) allowList {
	return allowList{all: slices.ContainsFunc(names, isWildcard), names: slices.Clone(names)}
}

func (l *allowList) has(name string) bool {
	return l.all || slices.ContainsFunc(l.names, func(n string) bool { return strings.EqualFold(n, name) })
}

func isWildcard(s string) bool { return s == "*" }
