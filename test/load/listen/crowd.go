package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

const listenBody = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourcesListChanged":true},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// A crowd is clients with an open stream each.
type crowd struct {
	addr    string
	streams int
	heard   atomic.Int64  // events of all streams
	last    chan struct{} // all have heard the event
}

// open opens streams until there are n, and waits until all are acknowledged.
func (c *crowd) open(n int) error {
	missing := n - c.streams
	c.streams = n
	return each(missing, c.listen)
}

// listen opens one stream, which ends with the server.
func (c *crowd) listen() error {
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s", c.addr, len(listenBody), listenBody)
	if err != nil {
		return err
	}
	events := bufio.NewReaderSize(conn, 512)
	line, err := nextEvent(events)
	if err != nil {
		return err
	}
	if !bytes.Contains(line, []byte("acknowledged")) {
		return fmt.Errorf("not acknowledged: %s", line)
	}
	go c.count(conn, events)
	return nil
}

// nextEvent returns the next line with data; it is good until the one after it.
func nextEvent(r *bufio.Reader) ([]byte, error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil || bytes.HasPrefix(line, []byte("data: ")) {
			return line, err
		}
		if bytes.HasPrefix(line, []byte("HTTP/1.1 ")) && !bytes.Contains(line, []byte(" 200 ")) {
			return nil, fmt.Errorf("refused: %s", line)
		}
	}
}

func (c *crowd) count(conn net.Conn, events *bufio.Reader) {
	defer conn.Close()
	for {
		line, err := nextEvent(events)
		if err != nil {
			return // the server has ended
		}
		if bytes.Contains(line, []byte("list_changed")) && c.heard.Add(1) == int64(c.streams) {
			close(c.last)
		}
	}
}

// event has a tool change the list of resources, and returns how long it took from
// the call until everybody had heard.
func (c *crowd) event() (time.Duration, error) {
	c.heard.Store(0)
	c.last = make(chan struct{})
	start := time.Now()
	const create = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes_create","arguments":{"title":"t","body":"x"}}}`
	res, err := http.Post("http://"+c.addr+"/rpc", "application/json", strings.NewReader(create))
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if !bytes.Contains(body, []byte(`"result"`)) || bytes.Contains(body, []byte("isError")) {
		return 0, fmt.Errorf("no note created: %s", body)
	}
	select {
	case <-c.last:
		return time.Since(start), nil
	case <-time.After(30 * time.Second):
		return 0, fmt.Errorf("%d of %d streams heard of the event", c.heard.Load(), c.streams)
	}
}
