package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// clientPatience is how long clients wait: longer than any deadline of the fleet.
const clientPatience = 15 * time.Second

// A client sends calls to ingresses in turn, over connections that it keeps, as
// HTTP clients do.
type client struct {
	urls []string
	http *http.Client
	turn atomic.Int64
	// resends says that the client sends a call again whose connection was cut.
	// That is only safe while ingresses stop in order: they then cut idle
	// connections alone.
	resends bool
}

func newClient(urls []string) *client {
	// Connections that a moment of much work has opened are not kept for long.
	return &client{urls: urls, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024, IdleConnTimeout: 5 * time.Second}}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// do makes one call and fills in how it ended.
func (c *client) do(ctx context.Context, call *call) {
	patience := clientPatience
	if call.giveUp > 0 {
		patience = call.giveUp
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := c.send(ctx, call)
	call.answered = time.Now()
	switch {
	case err == nil:
	case ctx.Err() == nil:
		call.outcome = cut
	case call.giveUp > 0:
		call.outcome = cancelled
	default:
		call.outcome = silent
	}
}

// send sends the call until an ingress has answered it. An ingress that refuses
// the connection has not got it, so that the next one may.
func (c *client) send(ctx context.Context, call *call) error {
	turn := int(c.turn.Add(1))
	for try := 1; ; try++ {
		err := c.post(ctx, c.urls[(turn+try)%len(c.urls)], call)
		switch {
		case err == nil, ctx.Err() != nil, try == 2*len(c.urls):
			return err
		case errors.Is(err, syscall.ECONNREFUSED):
		case c.resends:
			call.resent++
		default:
			return err
		}
	}
}

func (c *client) post(ctx context.Context, url string, call *call) error {
	if call.principal != "" {
		url += "/" + call.principal
	}
	res, body, err := c.exchange(ctx, url, "tools/call", call.tool, call.body())
	if err != nil {
		return err
	}
	call.read(res, body)
	return nil
}

// exchange sends one request, whose name is that of the header Mcp-Name, and
// returns its response.
func (c *client) exchange(ctx context.Context, url, method, name, request string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", strings.NewReader(request))
	if err != nil {
		return nil, nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		req.Header.Set(name, value)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, body, err
}

// A response is what a call may be answered with.
type response struct {
	ID     string
	Result *struct {
		toolResult

		TaskID string
	}
	Error *struct {
		Code int
		Data struct {
			Started      *bool
			RetryAfterMs int
		}
	}
}

// read takes in the answer.
func (c *call) read(res *http.Response, body []byte) {
	var r response
	switch err := json.Unmarshal(body, &r); {
	case err != nil, r.ID != c.id:
		c.outcome = wrong
	case r.Error != nil:
		c.outcome = outcome(strconv.Itoa(r.Error.Code))
		c.unproven = c.outcome == outcomeUnknown || r.Error.Data.Started == nil || *r.Error.Data.Started
		if c.outcome == overloaded || c.outcome == noWorkers {
			c.unproven = false
			c.flaw = refusalFlaw(res, r.Error.Data.RetryAfterMs)
		}
	case r.Result == nil, c.asTask != (r.Result.TaskID != ""):
		c.outcome = wrong
	case c.asTask:
		c.task = r.Result.TaskID
	case !r.Result.says(c.wanted()):
		c.outcome = wrong
	}
}

// A toolResult is what a tool has answered.
type toolResult struct {
	IsError bool
	Content []struct{ Text string }
}

// says tells whether it is a success with that text.
func (r *toolResult) says(text string) bool {
	return !r.IsError && len(r.Content) == 1 && r.Content[0].Text == text
}

// refusalFlaw tells what a refusal lacks that tells its client to come back.
func refusalFlaw(res *http.Response, retryAfterMs int) string {
	after, err := strconv.Atoi(res.Header.Get("Retry-After"))
	if res.StatusCode != http.StatusServiceUnavailable || err != nil || after < 1 || retryAfterMs < 1 {
		return fmt.Sprintf("refused with HTTP %d, Retry-After %q, retryAfterMs %d",
			res.StatusCode, res.Header.Get("Retry-After"), retryAfterMs)
	}
	return ""
}
