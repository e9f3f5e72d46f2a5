package bus

import (
	"strconv"
	"strings"
)

// bulkFrom is the size in bytes above which a message travels on the connection
// for large ones, so that it does not hold up small ones.
const bulkFrom = 256 << 10

// The numbers of an ingress's connections, a token of its reply subjects.
const (
	smallToken = "0"
	bulkToken  = "1"
)

// The tokens that follow in its reply subjects.
const (
	attemptsToken = "a." // and an attempt: for any reply to it
	inboxesToken  = "i." // and an inbox: for the last reply to a request
	pongsToken    = "p." // and a worker: for its answers to pings
)

// A link is one connection of an ingress: what goes out on it is answered on it,
// except for large replies, which all come on the one for large messages.
type link struct {
	conn   *Conn
	prefix string // of its reply subjects
}

func newLink(conn *Conn, realm, ingress, token string) link {
	return link{conn: conn, prefix: replies(realm, ingress, token)}
}

// attemptSubject is the subject for any reply to an attempt, given what all reply
// subjects of the connection begin with.
func attemptSubject(prefix string, attempt uint64) string {
	return prefix + attemptsToken + strconv.FormatUint(attempt, attemptBase)
}

// bulkPrefix returns the prefix of an ingress's connection for large messages,
// given that of any of its connections.
func bulkPrefix(realm, prefix string) string {
	ingress, _, _ := strings.Cut(prefix[len(Protocol+"."+realm+".r."):], ".")
	return replies(realm, ingress, bulkToken)
}
