package bus

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// Protocol is the first part of every subject: wire protocol 1.
const Protocol = "mcp.v1"

// maxToken bounds a tool's subject token. NATS closes a connection over a
// protocol line that is too long, so a longer name travels as noTool; the body
// has it in full.
const maxToken = 200

// noTool stands for a tool in the subjects of requests that name none.
const noTool = "_"

// doorGroup is the queue group of the queue door.
const doorGroup = "q"

// An Address names a pool of workers within a realm. Realms share a NATS
// account without seeing each other; a pool is one MCP server as a client sees
// it. Both are made of 1 to 64 of A-Z, a-z, 0-9, '_' and '-'.
type Address struct {
	Realm string
	Pool  string
}

// Validate reports every part that cannot be a subject token.
func (a Address) Validate() error {
	return errors.Join(validateToken("realm", a.Realm), validateToken("pool", a.Pool))
}

func validateToken(what, s string) error {
	if !isToken(s) {
		return fmt.Errorf("%s %q: want 1 to 64 letters, digits, '_' or '-'", what, s)
	}
	return nil
}

func isToken(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if !isPlain(s[i]) {
			return false
		}
	}
	return true
}

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

func (a Address) prefix() string { return Protocol + "." + a.Realm + "." + a.Pool }

// worker is the prefix of the subjects of one worker incarnation.
func (a Address) worker(id string) string { return a.prefix() + ".w." + id }

// calls is where a worker takes requests: calls plus a tool token.
func (a Address) calls(worker string) string { return a.worker(worker) + ".call." }

// control is where a worker takes cancellations.
func (a Address) control(worker string) string { return a.worker(worker) + ".ctl" }

// advert is where a worker tells how it is.
func (a Address) advert(worker string) string { return a.prefix() + ".adv." + worker }

// door is the queue door: the subjects of plain NATS requests.
func (a Address) door() string { return a.prefix() + ".q.*" }

// allAdverts are the adverts of all pools of a realm.
func allAdverts(realm string) string { return Protocol + "." + realm + ".*.adv.*" }

// parseAdvert splits the subject of an advert of realm.
func parseAdvert(realm, subject string) (pool, worker string, ok bool) {
	rest, ok := strings.CutPrefix(subject, Protocol+"."+realm+".")
	if !ok {
		return "", "", false
	}
	pool, rest, ok = strings.Cut(rest, ".")
	worker, ok2 := strings.CutPrefix(rest, "adv.")
	return pool, worker, ok && ok2 && isToken(pool) && isToken(worker)
}

// replies is the prefix of the reply subjects of one connection of one ingress
// incarnation.
func replies(realm, ingress, connection string) string {
	return Protocol + "." + realm + ".r." + ingress + "." + connection + "."
}

// subjectToken is the last token of the subject that req travels on: its tool's.
func subjectToken(req *mcp.Request) string {
	if req.Method != mcp.MethodToolsCall {
		return noTool
	}
	name, _ := req.Target()
	return toolToken(name)
}

// toolToken maps a tool's name to a subject token: letters, digits, '_' and '-'
// stay, any other byte becomes =XX.
func toolToken(name string) string {
	plain := name != "" && name != noTool && len(name) <= maxToken
	for i := 0; plain && i < len(name); i++ {
		plain = isPlain(name[i])
	}
	if plain {
		return name
	}
	return escapedToken(name)
}

func escapedToken(name string) string {
	const hex = "0123456789ABCDEF"
	if name == noTool {
		return "=5F"
	}
	var token strings.Builder
	for i := 0; i < len(name) && token.Len() <= maxToken; i++ {
		if c := name[i]; isPlain(c) {
			token.WriteByte(c)
		} else {
			token.Write([]byte{'=', hex[c>>4], hex[c&0xf]})
		}
	}
	if token.Len() == 0 || token.Len() > maxToken {
		return noTool
	}
	return token.String()
}
