package mcp

import (
	"slices"
	"time"

	"github.com/mcpyard/mcpyard/internal/jsonrpc"
)

// A LogLevel is the severity of a log message. The zero LogLevel is none.
//
// Spec: MCP 2026-07-28, Logging, Log Levels.
type LogLevel int

// The levels, from the least severe one on.
const (
	LogDebug LogLevel = iota + 1
	LogInfo
	LogNotice
	LogWarning
	LogError
	LogCritical
	LogAlert
	LogEmergency
)

// logLevels returns the names of all levels on the wire, that of no level first.
func logLevels() []string {
	return []string{"", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

func (l LogLevel) String() string {
	if l < LogDebug || l > LogEmergency {
		return ""
	}
	return logLevels()[l]
}

// parseLogLevel returns 0 for what is no name of a level.
func parseLogLevel(name []byte) LogLevel {
	return LogLevel(max(0, slices.Index(logLevels(), string(name))))
}

// Bounds on the log messages of one request. What goes beyond is dropped: a
// client must be able to follow, and a result must not wait behind them.
const (
	maxLogRate = 100      // messages in a second
	maxLogSize = 16 << 10 // bytes of a message's params
)

// Log sends a log message to the client, if it asked for messages of that level
// on this request. logger names the part that speaks and may be empty; data is
// any value that has a JSON form. It must hold no secrets and nothing that would
// help an attacker.
//
// Dropped are messages that the client did not ask for, those after its
// response, those beyond maxLogRate and maxLogSize, and all if no toolset of the
// server has Logs set.
//
// Spec: MCP 2026-07-28, Logging.
func (c *Call) Log(level LogLevel, logger string, data any) {
	if c.logs.least == 0 || level < c.logs.least || level > LogEmergency {
		return
	}
	params, err := jsonrpc.Marshal(logParams{Level: level.String(), Logger: logger, Data: data})
	if err == nil && len(params) <= maxLogSize {
		c.out.do(func() {
			if c.out.notify != nil && c.logs.admit(time.Now()) {
				c.out.notify(jsonrpc.AppendNotification(nil, NotificationMessage, params))
			}
		})
	}
}

type logParams struct {
	Level  string `json:"level"`
	Logger string `json:"logger,omitzero"`
	Data   any    `json:"data"`
}

// logs are the log messages of one call.
type logs struct {
	least LogLevel // none if the client wants no messages, or the server has not declared any

	window time.Time // when the second began in which sent are counted; for the outlet's do
	sent   int
}

// admit counts a message if there is room for it.
func (l *logs) admit(now time.Time) bool {
	if now.Sub(l.window) >= time.Second {
		l.window, l.sent = now, 0
	}
	l.sent++
	return l.sent <= maxLogRate
}
