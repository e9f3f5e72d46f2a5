// Package proxy stands between a NATS client and its server, and is the network
// that a test needs: slow, stalled, or losing and changing messages.
package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// A Proxy passes on every connection that it takes to one NATS server. Its
// methods may be called concurrently, and act on all connections at once.
type Proxy struct {
	ln     net.Listener
	target string
	all    sync.WaitGroup

	mu    sync.Mutex // guards what follows
	conns map[net.Conn]struct{}
	rate  int // bytes a second; 0: as fast as they come
	alter Alteration
	open  chan struct{} // closed while messages pass
}

// Listen starts a proxy to the server at the address target. Close must be called.
func Listen(ctx context.Context, target string) (*Proxy, error) {
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{ln: ln, target: target, conns: make(map[net.Conn]struct{}), open: make(chan struct{})}
	close(p.open)
	p.all.Go(p.serve)
	return p, nil
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Slow passes at most rate bytes a second on, in each direction of each
// connection; 0 means as many as there are.
func (p *Proxy) Slow(rate int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = rate
}

// An Alteration returns what is passed on instead of a message that is published,
// or delivered, to subject; nil loses it. The message is as it is on the wire, and
// what is returned has to be valid there. It is called by several goroutines.
type Alteration func(subject string, message []byte) []byte

// Alter alters messages from now on; nil passes them on as they are.
func (p *Proxy) Alter(a Alteration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alter = a
}

// Stall holds everything back, as a cut cable does, until Resume.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		p.open = make(chan struct{})
	default: // stalled already
	}
}

// Resume lets pass again what Stall has held back, and all that comes.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resume()
}

func (p *Proxy) resume() {
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

// Close closes all connections and returns when nothing runs any more.
func (p *Proxy) Close() {
	p.ln.Close()
	p.mu.Lock()
	for conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
	p.resume()
	p.mu.Unlock()
	p.all.Wait()
}

func (p *Proxy) serve() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return // closed
		}
		p.all.Go(func() { p.join(client) })
	}
}

// join connects client to the server until either of them hangs up.
func (p *Proxy) join(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.add(client, server) {
		return
	}
	defer p.remove(client, server)
	var both sync.WaitGroup
	for _, way := range [2][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			p.pass(way[0], way[1])
			client.Close()
			server.Close()
		})
	}
	both.Wait()
}

func (p *Proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		return false // closed
	}
	for _, conn := range conns {
		p.conns[conn] = struct{}{}
	}
	return true
}

func (p *Proxy) remove(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		delete(p.conns, conn)
	}
}

// pass passes messages on from one end to the other until one of them is closed.
func (p *Proxy) pass(from io.Reader, to io.Writer) {
	in, out := bufio.NewReaderSize(from, 64<<10), bufio.NewWriterSize(to, 64<<10)
	for {
		m, err := read(in)
		if err != nil {
			return
		}
		_, err = out.Write(p.admit(m))
		if err == nil && in.Buffered() == 0 {
			err = out.Flush()
		}
		if err != nil {
			return
		}
	}
}

// admit waits until m may pass, and returns what does.
func (p *Proxy) admit(m message) []byte {
	p.mu.Lock()
	rate, alter, open := p.rate, p.alter, p.open
	p.mu.Unlock()
	<-open
	if alter != nil && m.subject != "" {
		m.bytes = alter(m.subject, m.bytes)
	}
	if rate > 0 {
		time.Sleep(time.Duration(len(m.bytes)) * time.Second / time.Duration(rate)) // the slow network itself
	}
	return m.bytes
}
