package bus

import "strings"

// bulkFrom is the size in bytes above which a message travels on the connection
// for large ones, so that it does not hold up small ones.
const bulkFrom = 256 << 10

// The numbers of an ingress's connections, a token of its reply subjects.
const (
	smallToken = "0"
	bulkToken  = "1"
)

// A link is one connection of an ingress: what goes out on it is answered on it,
// except for large replies, which all come on the one for large messages.
type link struct {
	conn   *Conn
	prefix string // of its reply subjects
	keys   string // of the keys of its attempts: what a worker sees of them in a reply subject
}

func newLink(conn *Conn, realm, ingress, token string) link {
	prefix := replies(realm, ingress, token)
	return link{conn: conn, prefix: prefix, keys: prefix[len(Protocol+"."+realm+".r."):]}
}

// bulkReply returns the subject on which the ingress takes a large reply in place
// of subject, a reply's.
func bulkReply(realm, subject string) string {
	ingress := len(Protocol + "." + realm + ".r.")
	end := ingress + strings.IndexByte(subject[ingress:], '.')
	if rest, ok := strings.CutPrefix(subject[end:], "."+smallToken+"."); ok {
		return subject[:end] + "." + bulkToken + "." + rest
	}
	return subject
}
