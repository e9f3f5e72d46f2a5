package embedded

import (
	"fmt"
	"log/slog"

	"github.com/nats-io/nats-server/v2/server"
)

// A logger passes on the server's warnings and errors.
type logger struct {
	log   *slog.Logger
	fatal chan error // capacity 1: the first thing that keeps the server from running
}

var _ server.Logger = (*logger)(nil)

func newLogger(log *slog.Logger) *logger { return &logger{log: log, fatal: make(chan error, 1)} }

// Noticef, Debugf and Tracef drop what the server tells of its daily life.
func (l *logger) Noticef(string, ...any) {}
func (l *logger) Debugf(string, ...any)  {}
func (l *logger) Tracef(string, ...any)  {}

func (l *logger) Warnf(format string, v ...any)  { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l *logger) Errorf(format string, v ...any) { l.log.Error(fmt.Sprintf(format, v...)) }

// Fatalf takes what the server gives up over. Whoever started it tells of it.
func (l *logger) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- fmt.Errorf(format, v...):
	default:
	}
}
