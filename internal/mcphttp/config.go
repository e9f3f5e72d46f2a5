package mcphttp

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Config says what a Handler serves, to whom, and within which limits. The zero
// Config is ready: it serves the pool "default" to clients on this machine.
type Config struct {
	// Pool is the pool behind the paths that name none; empty means "default".
	Pool string

	// MaxBody is the size in bytes of the largest request body that is read;
	// zero means 4 MiB.
	MaxBody int64

	// MaxRequest returns the size in bytes of the largest request that the
	// handler takes now, if that may be less than MaxBody, so that larger ones
	// need not be read; it is called for every request. A nil MaxRequest, and 0,
	// stand for MaxBody.
	MaxRequest func() int64

	// MaxBodies is how many bytes of bodies may be held that are not parsed yet,
	// not counting those of less than 256 KiB; zero means four times MaxBody, and
	// 64 MiB at least. Further ones are refused until there is room again.
	MaxBodies int64

	// AllowedHosts are the values of the Host header that are served beside
	// those of the loopback interface, as "host" for every port or as
	// "host:port". "*" allows every host.
	AllowedHosts []string

	// AllowedOrigins are the web origins, as "scheme://host" or
	// "scheme://host:port", whose pages may send requests, beside those of the
	// loopback interface. "*" allows every origin.
	AllowedOrigins []string

	// KeepAlive is how long a response may be silent before a comment is sent
	// to keep its connection open; zero means 15 s.
	KeepAlive time.Duration

	// BodyTimeout is how long a client may take to send a request body; zero
	// means 30 s.
	BodyTimeout time.Duration

	// WriteTimeout is how long a client may take to accept one message; zero
	// means 30 s. It does not limit how long a response takes as a whole.
	WriteTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.Pool = cmp.Or(c.Pool, "default")
	c.MaxBody = cmp.Or(c.MaxBody, 4<<20)
	c.MaxBodies = cmp.Or(c.MaxBodies, max(4*c.MaxBody, 64<<20))
	c.KeepAlive = cmp.Or(c.KeepAlive, 15*time.Second)
	c.BodyTimeout = cmp.Or(c.BodyTimeout, 30*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	return c
}

// validate returns everything that is wrong with a config that has its
// defaults.
func (c Config) validate() error {
	var problems []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	refuse(!isPoolName(c.Pool), "pool %q: a name has 1 to 64 letters, digits, '-' and '_'", c.Pool)
	refuse(c.MaxBody < 0, "largest body of %d bytes: must be positive", c.MaxBody)
	refuse(c.MaxBodies <= c.MaxBody, "bodies of %d bytes: must be more than the largest one", c.MaxBodies)
	refuse(c.KeepAlive < 0, "keep-alive interval %v: must be positive", c.KeepAlive)
	refuse(c.BodyTimeout < 0, "body timeout %v: must be positive", c.BodyTimeout)
	refuse(c.WriteTimeout < 0, "write timeout %v: must be positive", c.WriteTimeout)
	for _, host := range c.AllowedHosts {
		refuse(!isWildcard(host) && !isOrigin("http://"+host), "allowed host %q: want host or host:port", host)
	}
	for _, origin := range c.AllowedOrigins {
		refuse(!isWildcard(origin) && !isOrigin(origin), "allowed origin %q: want scheme://host or scheme://host:port", origin)
	}
	return errors.Join(problems...)
}

// isOrigin tells whether s is a scheme and an authority and nothing else.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && s == u.Scheme+"://"+u.Host
}

func isPoolName(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}
